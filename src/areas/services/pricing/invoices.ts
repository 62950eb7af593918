import { dollarsOfUnits, unitsOfDollars } from '../../../lib/money.ts'
import { type Counted, type ItemJson, itemJson, type PricedItem, priceItem, quantityOf } from './items.ts'
import type { PriceList } from './merge.ts'
import { allItems, type Bookkeeper, type ItemPlan, type ItemPlans } from './plan.ts'

// One function prices an account: quote, 402 preview, summary, audit and the monthly bill all come from it.

/** What one bookkeeper is asked to collect. Money is in units. */
export interface Invoice {
  bookkeeper: Bookkeeper
  plan: ItemPlans
  items: PricedItem[]
  recurring: number
}

const priceList = ({ bookkeeper, plan }: PriceList, counted: Counted): Invoice => {
  const items = Object.entries(plan).flatMap(([category, itemPlans]) =>
    Object.entries(itemPlans).map(([item, itemPlan]) =>
      priceItem(category, item, itemPlan, quantityOf(counted, category, item, itemPlan)),
    ),
  )
  return { bookkeeper, plan, items, recurring: items.reduce((sum, { total }) => sum + total, 0) }
}

/** What an account pays for what it has, an invoice for each bookkeeper. */
export const priceAccount = (lists: readonly PriceList[], counted: Counted): Invoice[] =>
  lists.map((list) => priceList(list, counted))

/** A one-time charge for what is added. Money is in units. */
export interface Activation {
  category: string
  item: string
  name: string
  billable: number
  rate: number
  total: number
}

/** How an invoice differs from the one before. */
export interface ComparedInvoice {
  before: Invoice | undefined
  after: Invoice
  activations: Activation[]
  /** Units to be paid at once. */
  today: number
}

const sameItem = (a: PricedItem) => (b: PricedItem) => a.category === b.category && a.item === b.item

const nameOf = ({ category, item, plan }: PricedItem) =>
  plan.name ?? (item === allItems ? category : `${category}/${item}`)

// A line that was not priced before activates nothing: what it counts was there already.
const activationOf = (after: PricedItem, before: PricedItem | undefined): Activation[] => {
  const rate = unitsOfDollars(after.plan.activation_charge ?? 0)
  const billable = before ? after.billable - before.billable : 0
  if (rate === 0 || billable <= 0) return []
  const { category, plan, item } = after
  return [{ category, item: plan.as ?? item, name: nameOf(after), billable, rate, total: billable * rate }]
}

const keyOf = ({ id, type, vendor_id }: Bookkeeper) => JSON.stringify([id, type, vendor_id])

const compareInvoice = (before: Invoice | undefined, after: Invoice): ComparedInvoice => {
  const activations = after.items.flatMap((item) => activationOf(item, before?.items.find(sameItem(item))))
  return { before, after, activations, today: activations.reduce((sum, { total }) => sum + total, 0) }
}

/** Pairs invoices by bookkeeper; one that is not there any more is paired with an empty one. */
export const compareInvoices = (before: readonly Invoice[], after: readonly Invoice[]): ComparedInvoice[] => {
  const earlier = new Map(before.map((invoice) => [keyOf(invoice.bookkeeper), invoice]))
  const kept = after.map((invoice) => compareInvoice(earlier.get(keyOf(invoice.bookkeeper)), invoice))
  const present = new Set(after.map(({ bookkeeper }) => keyOf(bookkeeper)))
  const ended = before
    .filter(({ bookkeeper }) => !present.has(keyOf(bookkeeper)))
    .map((invoice) => compareInvoice(invoice, { ...invoice, plan: {}, items: [], recurring: 0 }))
  return [...kept, ...ended]
}

/** Units by which the monthly bill rises; negative when it falls. */
export const riseOf = ({ before, after }: ComparedInvoice) => after.recurring - (before?.recurring ?? 0)

/** Whether somebody has to agree first: something is to be paid at once, or more every month. */
export const raisesCharge = (compared: ComparedInvoice) => compared.today > 0 || riseOf(compared) > 0

type Difference = Record<string, unknown>

const numbersOf = ({ plan, quantity, billable, rate, single, cumulative }: PricedItem) => ({
  quantity,
  billable,
  rate: dollarsOfUnits(rate),
  minimum: plan.minimum ?? 0,
  activation_charge: plan.activation_charge ?? 0,
  single_discount_rate: dollarsOfUnits(single),
  cumulative_discount: cumulative.quantity,
  cumulative_discount_rate: dollarsOfUnits(cumulative.rate),
})

const less = (a: number, b: number) => dollarsOfUnits(unitsOfDollars(a) - unitsOfDollars(b))

const exceptionsBetween = (before: ItemPlan | undefined, after: ItemPlan | undefined): Difference => {
  const had = before?.exceptions ?? []
  const has = after?.exceptions ?? []
  const additions = has.filter((item) => !had.includes(item))
  const removals = had.filter((item) => !has.includes(item))
  return additions.length + removals.length === 0 ? {} : { exceptions: { additions, removals } }
}

/** New minus old where they differ; of a text that differs the new one. */
const differenceOf = (before: PricedItem | undefined, after: PricedItem | undefined): Difference => {
  const zero = { ...(before ?? after), quantity: 0, billable: 0, rate: 0, single: 0 } as PricedItem
  const none = numbersOf({ ...zero, plan: {}, cumulative: { rate: 0, quantity: 0 } })
  const had = before ? numbersOf(before) : none
  const has = after ? numbersOf(after) : none
  const difference: Difference = {}
  for (const key of Object.keys(none) as (keyof typeof none)[])
    if (had[key] !== has[key]) difference[key] = less(has[key], had[key])
  if (before && after && nameOf(before) !== nameOf(after)) difference.name = nameOf(after)
  return { ...difference, ...exceptionsBetween(before?.plan, after?.plan) }
}

interface Changes {
  type: 'created' | 'modified' | 'removed'
  reason?: string
  difference: Difference
}

const changesOf = (before: PricedItem | undefined, after: PricedItem | undefined): Changes | undefined => {
  const difference = differenceOf(before, after)
  if (!before) return { type: 'created', difference }
  if (!after) return { type: 'removed', difference }
  return Object.keys(difference).length === 0 ? undefined : { type: 'modified', difference }
}

const activationJson = ({ billable, rate, total, ...activation }: Activation) => ({
  ...activation,
  quantity: billable,
  billable,
  rate: dollarsOfUnits(rate),
  total: dollarsOfUnits(total),
})

const frameOf = (
  { bookkeeper, plan, recurring }: Invoice,
  activations: readonly Activation[],
  today: number,
) => ({
  activation_charges: activations.map(activationJson),
  taxes: [],
  summary: { today: dollarsOfUnits(today), recurring: dollarsOfUnits(recurring) },
  plan,
  bookkeeper,
})

/** An invoice as it stands. */
export const invoiceJson = (invoice: Invoice) => ({
  items: invoice.items.map(itemJson),
  ...frameOf(invoice, [], 0),
})

type AnnotatedItem = ItemJson & { changes?: Changes }

const annotated = (before: PricedItem | undefined, after: PricedItem): AnnotatedItem => {
  const changes = changesOf(before, after)
  return changes ? { ...itemJson(after), changes } : itemJson(after)
}

const gone = (before: PricedItem): AnnotatedItem => {
  const nothing = {
    quantity: 0,
    billable: 0,
    single: 0,
    cumulative: { rate: 0, quantity: 0 },
    discount: 0,
    total: 0,
  }
  return { ...itemJson({ ...before, ...nothing }), changes: changesOf(before, undefined) as Changes }
}

/** An invoice with what changed on each line, lines that are gone included. */
export const comparedJson = ({ before, after, activations, today }: ComparedInvoice) => {
  const removed = (before?.items ?? []).filter((item) => !after.items.some(sameItem(item)))
  return {
    items: [
      ...after.items.map((item) => annotated(before?.items.find(sameItem(item)), item)),
      ...removed.map(gone),
    ],
    ...frameOf(after, activations, today),
  }
}

/** Whether anything on the invoice changed. */
export const isChanged = (compared: ComparedInvoice) =>
  comparedJson(compared).items.some(({ changes }) => changes !== undefined)
