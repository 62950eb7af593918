import { gregorianOfMonth, monthAfter } from '../../../../lib/gregorian.ts'
import { isObject, type Json, present } from '../../../../lib/json.ts'
import { divideRounded, dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import type { LedgerEntryRow } from '../../ledgers/rules.ts'
import { itemName, taxJson } from '../../services/area.ts'
import type { Invoice as PricedInvoice } from '../../services/pricing/invoices.ts'
import type { PricedItem } from '../../services/pricing/items.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'

export const invoiceStatuses = ['draft', 'open', 'paid', 'void', 'uncollectible'] as const
type InvoiceStatus = (typeof invoiceStatuses)[number]

/** A draft shows what the current month would become. It is never stored. */
export type IssuedStatus = Exclude<InvoiceStatus, 'draft'>

export type InvoiceStep = 'void' | 'pay' | 'credit' | 'write_off'

const steps: Readonly<Record<IssuedStatus, readonly InvoiceStep[]>> = {
  open: ['void', 'pay', 'credit', 'write_off'],
  uncollectible: ['pay', 'credit'],
  paid: ['credit'],
  void: [],
}

export const mayBecome = (status: IssuedStatus, step: InvoiceStep) => steps[status].includes(step)

/** Ledgers whose entries are on invoices one by one, and the one whose sums are. */
export const itemisedSources = ['services', 'prorations', 'taxes'] as const
export const usageSource = 'per-minute-voip'

/** Gregorian seconds; `to` is the last one. */
export interface Period {
  from: number
  to: number
}

/** A line of an invoice. Units, without added taxes; refunds are negative. */
export interface InvoiceLine {
  source: 'services' | 'prorations' | 'usage'
  description: string
  category?: string
  item?: string
  /** The key of the item in the plan. Internal. */
  key?: string
  quantity?: number
  unit?: string
  rate?: number
  discount?: number
  amount: number
  /** Absent: that of the invoice. */
  period?: Period
  ledger_id?: string
}

export interface InvoiceTax {
  name: string
  tax_id?: string
  jurisdiction?: string
  rate?: number
  /** Contained in the amounts of the lines. */
  inclusive: boolean
  base?: number
  amount: number
}

/** An account as it was when the document was issued. */
export interface DocumentParty {
  id: string
  name: string
  address?: readonly string[]
}

/** Paid from the balance, or charged by a gateway. */
type Collection = 'balance' | 'charge'

/** The content of an issued invoice never changes. */
export interface InvoiceDoc {
  account: DocumentParty
  issuer: DocumentParty
  bookkeeper: Bookkeeper
  collection: Collection
  currency: string
  period: Period
  /** Gregorian seconds. */
  due: number
  items: InvoiceLine[]
  taxes: InvoiceTax[]
  /** Units. */
  total: number
  /** Units of the total that the balance did not cover. */
  amountDue: number
}

interface DocumentNumber {
  prefix: string
  value: number
}

export interface InvoiceDocument {
  accountId: string
  id: string
  month: number
  issuerId: string
  /** Absent on drafts. */
  number?: DocumentNumber
  /** Gregorian seconds. */
  issued: number
  doc: InvoiceDoc
  status: InvoiceStatus
  /** Units that credit notes have refunded. */
  credited: number
  /** The transaction that pays it; empty if there is none. */
  attempt: string
}

export interface CreditNoteDoc {
  account: DocumentParty
  issuer: DocumentParty
  currency: string
  reason?: string
  /** Units, with taxes. */
  total: number
  /** Units of the total. */
  taxes: number
  ledger_ids: readonly string[]
}

export interface CreditNote {
  accountId: string
  invoiceId: string
  id: string
  number: DocumentNumber
  issued: number
  doc: CreditNoteDoc
}

export interface InvoiceEvent {
  /** Gregorian seconds. */
  at: number
  event: string
  doc: Json
}

/** The time of a month (202611). */
export const monthPeriod = (month: number): Period => ({
  from: gregorianOfMonth(month),
  to: gregorianOfMonth(monthAfter(month)) - 1,
})

const joined = (...parts: unknown[]) =>
  parts.filter((part) => (typeof part === 'string' || typeof part === 'number') && part !== '').join(' ')

const addressLines = ({ name, house_number, street, locality, region, postal_code, country }: Json) =>
  [joined(name), joined(house_number, street), joined(postal_code, locality, region), joined(country)].filter(
    (line) => line !== '',
  )

/** An account as documents name it: its legal name and its billing or emergency address. */
export const partyOf = (account: {
  id: string
  doc: { name: string; org?: unknown; addresses?: unknown }
}): DocumentParty => {
  const { name, org, addresses } = account.doc
  const stored = isObject(addresses) ? (addresses.billing ?? addresses.emergency) : undefined
  const address = isObject(stored) ? addressLines(stored) : []
  const legalName = typeof org === 'string' && org !== '' ? org : name
  return { id: account.id, name: legalName, ...(address.length === 0 ? {} : { address }) }
}

/** `2026-000123`, after the issuer's prefix. */
export const numberText = ({ prefix, value }: DocumentNumber) => `${prefix}${String(value).padStart(6, '0')}`

/** The number of an invoice; the id of a draft. */
export const invoiceNumber = ({ number, id }: Pick<InvoiceDocument, 'number' | 'id'>) =>
  number ? numberText(number) : id

/** Each issuer numbers its documents from 1 each year. `at`: Unix milliseconds. */
export const seriesOf = (kind: 'invoice' | 'credit_note', at: number) =>
  `${kind}/${new Date(at).getUTCFullYear()}`

export const numberPrefix = (ownPrefix: string, at: number) => `${ownPrefix}${new Date(at).getUTCFullYear()}-`

const recurringLine = (priced: PricedItem): InvoiceLine => {
  const { category, item, plan, billable, rate, discount, total } = priced
  return {
    source: 'services',
    description: itemName(priced),
    category,
    item: plan.as ?? item,
    key: item,
    quantity: billable,
    rate,
    ...(discount === 0 ? {} : { discount }),
    amount: total,
  }
}

export const recurringLines = ({ items }: PricedInvoice): InvoiceLine[] =>
  items.filter(({ billable, total }) => billable > 0 || total !== 0).map(recurringLine)

export const recurringTaxes = ({ taxes }: PricedInvoice): InvoiceTax[] =>
  taxes.map(({ tax, base, amount }) => ({ ...taxJson(tax), base, amount }))

/** A ledger entry as a line. */
export const entryLine = (entry: LedgerEntryRow, source: 'services' | 'prorations'): InvoiceLine => {
  const { id, usage, amount, details, created } = entry
  const { start = created, end } = details.period ?? {}
  return {
    source,
    description: details.description ?? `${usage.type}/${usage.unit}`,
    category: usage.type,
    item: usage.unit,
    quantity: usage.quantity,
    amount: -amount,
    period: { from: start, to: end ?? start },
    ledger_id: id,
  }
}

/** A ledger entry as a tax. Manual bookings have no metadata. */
export const entryTax = ({ amount, details, usage }: LedgerEntryRow): InvoiceTax => {
  const metadata: Json = isObject(details.metadata) ? details.metadata : {}
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const base = number(metadata.base)
  return {
    name: text(metadata.name) ?? details.description ?? usage.unit,
    ...present({
      tax_id: text(metadata.tax_id),
      jurisdiction: text(metadata.jurisdiction),
      rate: number(metadata.rate),
    }),
    inclusive: false,
    ...(base === undefined ? {} : { base: unitsOfDollars(base) }),
    amount: -amount,
  }
}

const kindOfTax = ({ name, tax_id, jurisdiction, rate, inclusive }: InvoiceTax) =>
  JSON.stringify([tax_id ?? name, jurisdiction ?? '', rate ?? '', inclusive])

const addTaxes = ({ base: a, ...one }: InvoiceTax, { base: b, amount }: InvoiceTax): InvoiceTax => ({
  ...one,
  ...(a === undefined && b === undefined ? {} : { base: (a ?? 0) + (b ?? 0) }),
  amount: one.amount + amount,
})

export const taxesTogether = (taxes: readonly InvoiceTax[]): InvoiceTax[] =>
  [...Map.groupBy(taxes, kindOfTax).values()].map((same) => same.reduce(addTaxes))

/** The calls of a month that are not invoiced yet. */
export interface UsageSum {
  month: number
  forAccountId: string
  /** Debits are negative. */
  amount: number
  quantity: number
  unit: string
}

/** `about`: the name of another account that has made the calls. */
export const usageLine = (sum: UsageSum, about: string | undefined): InvoiceLine => ({
  source: 'usage',
  description: about === undefined ? 'Calls' : `Calls of ${about}`,
  category: usageSource,
  quantity: sum.quantity,
  unit: sum.unit,
  amount: -sum.amount,
  period: monthPeriod(sum.month),
})

/** Units, with added taxes. */
export const totalOf = (items: readonly InvoiceLine[], taxes: readonly InvoiceTax[]) =>
  items.reduce((sum, { amount }) => sum + amount, 0) +
  taxes.reduce((sum, { inclusive, amount }) => (inclusive ? sum : sum + amount), 0)

/**
 * Units that are open when an invoice is issued. Accepted charges and calls were taken from the balance already. A
 * gateway charges everything new, and what the balance lacks besides. `fresh`: booked with the invoice; `balance`: before.
 */
export const amountDue = (invoice: {
  total: number
  fresh: number
  balance: number
  collection: Collection
}) => {
  const { total, fresh, balance, collection } = invoice
  const lacking = collection === 'charge' ? fresh + Math.max(0, -balance) : fresh - balance
  return Math.max(0, Math.min(total, lacking))
}

type Taxed = Pick<InvoiceDoc, 'total' | 'taxes'>

const addedTaxes = ({ taxes }: Taxed) =>
  taxes.reduce((sum, tax) => (tax.inclusive ? sum : sum + tax.amount), 0)

const inProportion = (amount: number, part: number, whole: number) =>
  whole === 0 ? 0 : Number(divideRounded(BigInt(amount) * BigInt(part), BigInt(whole)))

/** Units of taxes in a credit note, in the proportion of the invoice. */
export const taxShare = (amount: number, doc: Taxed) => inProportion(amount, addedTaxes(doc), doc.total)

/** Units of added taxes on a part of an invoice's lines. */
export const taxOn = (amount: number, doc: Taxed) => {
  const added = addedTaxes(doc)
  return inProportion(amount, added, doc.total - added)
}

/** Units that a credit note refunds of each monthly item, in proportion. */
export const creditedItems = (amount: number, { items, total }: Pick<InvoiceDoc, 'items' | 'total'>) =>
  items.flatMap(({ category = '', key, amount: paid }) =>
    key === undefined ? [] : [{ category, key, total: inProportion(paid, amount, total) }],
  )

/** Units that can still be refunded. */
export const leftOf = ({ doc, credited }: Pick<InvoiceDocument, 'doc' | 'credited'>) =>
  Math.max(0, doc.total - credited)

/** Units that are still to be paid. */
export const toPay = ({ doc, credited }: Pick<InvoiceDocument, 'doc' | 'credited'>) =>
  Math.max(0, Math.min(doc.amountDue, doc.total - credited))

/** Whether an unpaid invoice is overdue. A gateway charges at once. */
export const isOverdue = (
  { status, doc }: Pick<InvoiceDocument, 'status' | 'doc'>,
  gregorianSeconds: number,
) => status === 'uncollectible' || doc.collection === 'charge' || doc.due <= gregorianSeconds

/** Ledger -> units that an invoice took from it. */
export const bySource = ({ items, taxes }: Pick<InvoiceDoc, 'items' | 'taxes'>) => {
  const ledgerOf = { services: 'services', prorations: 'prorations', usage: usageSource } as const
  const sums = new Map<string, number>()
  const add = (service: string, amount: number) => sums.set(service, (sums.get(service) ?? 0) + amount)
  for (const { source, amount } of items) add(ledgerOf[source], amount)
  for (const { inclusive, amount } of taxes) if (!inclusive) add('taxes', amount)
  return [...sums].filter(([, amount]) => amount !== 0)
}

const dollarsOrNone = (units: number | undefined) => (units === undefined ? undefined : dollarsOfUnits(units))

const lineJson = ({ key: _, ...line }: InvoiceLine) =>
  present({
    ...line,
    rate: dollarsOrNone(line.rate),
    discount: dollarsOrNone(line.discount),
    amount: dollarsOfUnits(line.amount),
  })

const invoiceTaxJson = (tax: InvoiceTax) =>
  present({ ...tax, base: dollarsOrNone(tax.base), amount: dollarsOrNone(tax.amount) })

/** The row of a list. */
export const invoiceRow = (invoice: InvoiceDocument) => {
  const { id, number, issued, status, doc, credited } = invoice
  return {
    id,
    ...(number ? { number: numberText(number) } : {}),
    status,
    period: doc.period,
    total: dollarsOfUnits(doc.total),
    currency: doc.currency,
    ...(number ? { issued } : {}),
    due: doc.due,
    ...(credited > 0 ? { credited: dollarsOfUnits(credited) } : {}),
  }
}

export const invoiceJson = (
  invoice: InvoiceDocument,
  notes: readonly CreditNote[] = [],
  events: readonly InvoiceEvent[] = [],
) => {
  const { doc, attempt } = invoice
  const { account, issuer, bookkeeper, items, taxes } = doc
  return {
    ...invoiceRow(invoice),
    account,
    issuer,
    bookkeeper,
    items: items.map(lineJson),
    taxes: taxes.map(invoiceTaxJson),
    amount_due: invoice.status === 'paid' || invoice.status === 'void' ? 0 : dollarsOfUnits(toPay(invoice)),
    ...(attempt === '' ? {} : { transaction_id: attempt }),
    ...(notes.length === 0 ? {} : { credit_notes: notes.map(creditNoteJson) }),
    ...(events.length === 0 ? {} : { events: events.map(eventJson) }),
  }
}

const eventJson = ({ at, event, doc }: InvoiceEvent) => ({ at, event, ...doc })

export const creditNoteJson = ({ id, invoiceId, number, issued, doc }: CreditNote) => {
  const { account, issuer, currency, reason, total, taxes, ledger_ids } = doc
  return {
    id,
    number: numberText(number),
    invoice_id: invoiceId,
    issued,
    account,
    issuer,
    ...(reason === undefined ? {} : { reason }),
    total: dollarsOfUnits(total),
    taxes: dollarsOfUnits(taxes),
    currency,
    ledger_ids,
  }
}

/** CSV rows. Taxes are rows, too; contained ones have their own kind. */
export const csvRows = (invoice: InvoiceDocument): Json[] => {
  const { number, doc, status } = invoice
  const head = { number: number ? numberText(number) : '', status }
  const tail = (amount: number, { from, to }: Period) => {
    return { amount: dollarsOfUnits(amount), currency: doc.currency, from, to }
  }
  const items = doc.items.map(
    ({ source, description, category, item, quantity, unit, rate, amount, period }) => ({
      ...head,
      kind: source,
      ...{ description, category, item, quantity, unit, rate: dollarsOrNone(rate) },
      ...tail(amount, period ?? doc.period),
    }),
  )
  const taxes = doc.taxes.map(({ name, jurisdiction, rate, inclusive, amount }) => ({
    ...head,
    kind: inclusive ? 'tax_included' : 'tax',
    ...{ description: name, category: 'taxes', item: jurisdiction, quantity: undefined, unit: '%', rate },
    ...tail(amount, doc.period),
  }))
  return [...items, ...taxes]
}
