import { zip } from '../../../../lib/list.ts'
import { dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import type { ItemPlan, ItemPlans } from '../plans/schema.ts'
import {
  type Counted,
  type ItemJson,
  itemJson,
  itemName,
  type PricedItem,
  priceItem,
  proratesOf,
  quantityOf,
  taxesJson,
} from './items.ts'
import type { PriceList } from './merge.ts'
import {
  addedBy,
  type Bookkeeper,
  type TaxLine,
  taxed,
  taxJson,
  taxKey,
  taxLineJson,
  taxTotals,
} from './plan.ts'
import { type ChargedItem, type Proration, prorationJson, prorationOf } from './proration.ts'

// One function prices an account: quote, 402 preview, summary, audit and monthly bill use it.

/** What one bookkeeper collects. Units. */
export interface Invoice {
  bookkeeper: Bookkeeper
  plan: ItemPlans
  items: PricedItem[]
  /** The monthly sum of the items without added taxes. */
  recurring: number
  taxes: TaxLine[]
  /** `recurring` and the added taxes. */
  total: number
}

const linesTotal = (lines: readonly { total: number }[]) => lines.reduce((sum, { total }) => sum + total, 0)

const invoiceOf = ({ bookkeeper, plan }: PriceList, items: PricedItem[]): Invoice => {
  const recurring = linesTotal(items)
  const taxes = taxTotals(items.flatMap((item) => item.taxes))
  return { bookkeeper, plan, items, recurring, taxes, total: recurring + addedBy(taxes) }
}

const priceList = (list: PriceList, counted: Counted): Invoice => {
  const items = Object.entries(list.plan).flatMap(([category, itemPlans]) =>
    Object.entries(itemPlans).map(([item, plan]) =>
      priceItem({ category, item, plan, quantity: quantityOf(counted, category, item, plan) }, list.tax),
    ),
  )
  return invoiceOf(list, items)
}

/** The monthly invoices of an account, one for each bookkeeper. */
export const priceAccount = (lists: readonly PriceList[], counted: Counted): Invoice[] =>
  lists.map((list) => priceList(list, counted))

/** A one-time charge for added items. Units. */
interface ActivationLine {
  category: string
  /** The key in the plan; unique in an invoice with the category. */
  key: string
  /** The bookkeeper's name for it. */
  item: string
  name: string
  billable: number
  rate: number
  total: number
  taxes: TaxLine[]
}

/** An invoice and the one before. */
export interface ComparedInvoice {
  before: Invoice | undefined
  after: Invoice
  activations: ActivationLine[]
  /** For the rest of the month of the comparison. */
  prorations: Proration[]
  /** The taxes on activations and prorations. */
  taxesToday: TaxLine[]
  /** Units due at once: activations, prorations and their added taxes. Negative: refunded. */
  today: number
}

const sameItem = (a: PricedItem) => (b: PricedItem) => a.category === b.category && a.item === b.item

// A newly priced line activates nothing: its items existed already.
const activationOf = (before: PricedItem | undefined, after: PricedItem): ActivationLine | undefined => {
  const rate = unitsOfDollars(after.plan.activation_charge ?? 0)
  const billable = before ? after.billable - before.billable : 0
  if (rate === 0 || billable <= 0) return undefined
  const { category, plan, item: key, held } = after
  const total = billable * rate
  const { taxes } = taxed(total, held)
  return { category, key, item: plan.as ?? key, name: itemName(after), billable, rate, total, taxes }
}

const bookkeeperKeyOf = ({ id, type, vendor_id }: Bookkeeper) => JSON.stringify([id, type, vendor_id])

type ChargedFor = (item: { category: string; key: string }) => ChargedItem

const unlimitedCharge: ChargedFor = () => ({ amount: Number.POSITIVE_INFINITY })

const compareInvoice = (
  before: Invoice | undefined,
  after: Invoice,
  { moment, chargedFor }: { moment: number; chargedFor: ChargedFor },
): ComparedInvoice => {
  const pairs = after.items.map((item) => [before?.items.find(sameItem(item)), item] as const)
  const activations = pairs.flatMap((pair) => activationOf(...pair) ?? [])
  const prorations = pairs.flatMap((pair) => prorationOf(...pair, { moment, chargedFor }) ?? [])
  const taxesToday = taxTotals([...activations, ...prorations].flatMap(({ taxes }) => taxes))
  const today = linesTotal(activations) + linesTotal(prorations) + addedBy(taxesToday)
  return { before, after, activations, prorations, taxesToday, today }
}

/**
 * Pairs invoices by bookkeeper; one that ended is paired with an empty one. Prorations are for the days after
 * `moment` (Unix milliseconds). `chargedFor` limits refunds of removals.
 */
export const compareInvoices = (
  before: readonly Invoice[],
  after: readonly Invoice[],
  moment: number,
  chargedFor = unlimitedCharge,
): ComparedInvoice[] => {
  const terms = { moment, chargedFor }
  const earlier = new Map(before.map((invoice) => [bookkeeperKeyOf(invoice.bookkeeper), invoice]))
  const kept = after.map((invoice) =>
    compareInvoice(earlier.get(bookkeeperKeyOf(invoice.bookkeeper)), invoice, terms),
  )
  const present = new Set(after.map(({ bookkeeper }) => bookkeeperKeyOf(bookkeeper)))
  const ended = before
    .filter(({ bookkeeper }) => !present.has(bookkeeperKeyOf(bookkeeper)))
    .map((invoice) =>
      compareInvoice(invoice, invoiceOf({ bookkeeper: invoice.bookkeeper, plan: {} }, []), terms),
    )
  return [...kept, ...ended]
}

export const withoutDues = (compared: ComparedInvoice): ComparedInvoice => ({
  ...compared,
  activations: [],
  prorations: [],
  taxesToday: [],
  today: 0,
})

/** Whether a line may depend on what was charged this month: prorated additions, and removals. */
export const isProrated = (compared: readonly ComparedInvoice[]) =>
  compared.some(({ before, after }) =>
    after.items.some((item) => {
      const { quantity } = before?.items.find(sameItem(item)) ?? item
      return item.quantity < quantity || (item.quantity > quantity && proratesOf(item.plan).additions)
    }),
  )

/** Units by which the monthly total rises; negative: falls. */
export const riseOf = ({ before, after }: ComparedInvoice) => after.total - (before?.total ?? 0)

/** Units due at once, and by which the months rise. */
export const chargesOf = (compared: readonly ComparedInvoice[]) => ({
  today: compared.reduce((sum, { today }) => sum + today, 0),
  monthly: compared.reduce((sum, one) => sum + riseOf(one), 0),
})

/** Whether the account must accept it: it pays now, or more each month. */
export const raisesCharge = (compared: ComparedInvoice) => compared.today > 0 || riseOf(compared) > 0

type Difference = Record<string, unknown>

type Figures = Pick<PricedItem, 'plan' | 'quantity' | 'billable' | 'rate' | 'single' | 'cumulative'>

const itemFigures = ({ plan, quantity, billable, rate, single, cumulative }: Figures) => ({
  quantity,
  billable,
  rate: dollarsOfUnits(rate),
  minimum: plan.minimum ?? 0,
  activation_charge: plan.activation_charge ?? 0,
  single_discount_rate: dollarsOfUnits(single),
  cumulative_discount: cumulative.quantity,
  cumulative_discount_rate: dollarsOfUnits(cumulative.rate),
})

/** The fields of a line whose item does not exist. */
const nothing = {
  quantity: 0,
  billable: 0,
  single: 0,
  cumulative: { rate: 0, quantity: 0 },
  discount: 0,
  total: 0,
  taxes: [],
}

const noFigures = itemFigures({ plan: {}, rate: 0, ...nothing })

const less = (a: number, b: number) => dollarsOfUnits(unitsOfDollars(a) - unitsOfDollars(b))

const exceptionsBetween = (before: ItemPlan | undefined, after: ItemPlan | undefined): Difference => {
  const had = before?.exceptions ?? []
  const has = after?.exceptions ?? []
  const additions = has.filter((item) => !had.includes(item))
  const removals = had.filter((item) => !has.includes(item))
  return additions.length + removals.length === 0 ? {} : { exceptions: { additions, removals } }
}

const taxesBetween = (before: PricedItem | undefined, after: PricedItem | undefined): Difference => {
  const had = before?.held ?? []
  const has = after?.held ?? []
  const missingFrom = (others: typeof has) => {
    const keys = new Set(others.map(taxKey))
    return (tax: (typeof has)[number]) => !keys.has(taxKey(tax))
  }
  const additions = has.filter(missingFrom(had)).map(taxJson)
  const removals = had.filter(missingFrom(has)).map(taxJson)
  return additions.length + removals.length === 0 ? {} : { taxes: { additions, removals } }
}

/** New minus old for changed numbers; the new text for changed texts. */
const differenceOf = (before: PricedItem | undefined, after: PricedItem | undefined): Difference => {
  const had = before ? itemFigures(before) : noFigures
  const has = after ? itemFigures(after) : noFigures
  const difference: Difference = {}
  for (const [[key, was], is] of zip(Object.entries(had), Object.values(has)))
    if (was !== is) difference[key] = less(is, was)
  if (before && after && itemName(before) !== itemName(after)) difference.name = itemName(after)
  return { ...difference, ...exceptionsBetween(before?.plan, after?.plan), ...taxesBetween(before, after) }
}

interface Changes {
  type: 'created' | 'modified' | 'removed'
  reason?: string
  difference: Difference
}

const itemChanges = (before: PricedItem | undefined, after: PricedItem | undefined): Changes | undefined => {
  const difference = differenceOf(before, after)
  if (!before) return { type: 'created', difference }
  if (!after) return { type: 'removed', difference }
  return Object.keys(difference).length === 0 ? undefined : { type: 'modified', difference }
}

const activationJson = ({ category, item, name, billable, rate, total, taxes }: ActivationLine) => ({
  category,
  item,
  name,
  quantity: billable,
  billable,
  rate: dollarsOfUnits(rate),
  ...taxesJson(taxes),
  total: dollarsOfUnits(total),
})

/** Each tax once, with its monthly amount and what is due of it at once. */
const taxRows = (monthly: readonly TaxLine[], today: readonly TaxLine[]) => {
  const due = new Map(today.map((line) => [taxKey(line.tax), line]))
  const named = today.map((line) => ({ ...line, base: 0, amount: 0 }))
  return taxTotals([...monthly, ...named]).map((line) => {
    const now = due.get(taxKey(line.tax))
    if (!now) return taxLineJson(line)
    return {
      ...taxLineJson(line),
      today: { base: dollarsOfUnits(now.base), amount: dollarsOfUnits(now.amount) },
    }
  })
}

/** `taxes` and `total` only if taxes are added; otherwise `recurring` is the monthly price. */
const summaryJson = ({ recurring, taxes, total }: Invoice, today: number) => ({
  today: dollarsOfUnits(today),
  recurring: dollarsOfUnits(recurring),
  ...(taxes.some(({ tax }) => !tax.inclusive)
    ? { taxes: dollarsOfUnits(total - recurring), total: dollarsOfUnits(total) }
    : {}),
})

type DueToday = Pick<ComparedInvoice, 'activations' | 'prorations' | 'taxesToday' | 'today'>

const nothingToday: DueToday = { activations: [], prorations: [], taxesToday: [], today: 0 }

const frameOf = (invoice: Invoice, { activations, prorations, taxesToday, today }: DueToday) => ({
  activation_charges: activations.map(activationJson),
  prorations: prorations.map(prorationJson),
  taxes: taxRows(invoice.taxes, taxesToday),
  summary: summaryJson(invoice, today),
  plan: invoice.plan,
  bookkeeper: invoice.bookkeeper,
})

export const invoiceJson = (invoice: Invoice) => ({
  items: invoice.items.map(itemJson),
  ...frameOf(invoice, nothingToday),
})

type AnnotatedItem = ItemJson & { changes?: Changes }

const annotated = (before: PricedItem | undefined, after: PricedItem): AnnotatedItem => {
  const changes = itemChanges(before, after)
  return changes ? { ...itemJson(after), changes } : itemJson(after)
}

const removedItem = (before: PricedItem): AnnotatedItem => {
  const changes = itemChanges(before, undefined)
  return { ...itemJson({ ...before, ...nothing }), ...(changes ? { changes } : {}) }
}

const comparison = (compared: ComparedInvoice) => {
  const { before, after } = compared
  const removed = (before?.items ?? []).filter((item) => !after.items.some(sameItem(item)))
  return {
    items: [
      ...after.items.map((item) => annotated(before?.items.find(sameItem(item)), item)),
      ...removed.map(removedItem),
    ],
    ...frameOf(after, compared),
  }
}

// Consent, audit and response use the same comparison.
const comparisons = new WeakMap<ComparedInvoice, ReturnType<typeof comparison>>()

/** The invoice with the changes of each line, removed ones included. Read-only. */
export const comparedJson = (compared: ComparedInvoice) => {
  const known = comparisons.get(compared) ?? comparison(compared)
  comparisons.set(compared, known)
  return known
}

export const isChanged = (compared: ComparedInvoice) =>
  comparedJson(compared).items.some(({ changes }) => changes !== undefined)
