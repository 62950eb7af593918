import { type Failure, invalid } from '../../../lib/failure.ts'
import { gregorianMilliseconds, gregorianOfMonth, unixOfGregorian } from '../../../lib/gregorian.ts'
import { divideRounded, dollarsOfUnits, maxUnits } from '../../../lib/money.ts'
import { monthNumber } from '../../../lib/time-key.ts'
import { type Counting, unitsMoved } from '../services/agreed.rules.ts'

export interface Usage {
  type: string
  quantity: number
  unit: string
}

export interface Source {
  service: string
  id: string
}

/** What is stored of an entry besides its columns. `act`, `agreed`, `givesBack` and `reckoned` are internal. */
export interface EntryDetails {
  description?: string
  /** Gregorian seconds. */
  period?: { start: number; end?: number }
  metadata?: Record<string, unknown>
  executor?: { trigger: string; module: string }
  /** Distinguishes a charge from other charges of the same request. */
  act?: string
  /** The item and quantity of a charge: needed for a refund. */
  agreed?: { counting: Counting; units: number }
  /** The refunded charge and amount. */
  givesBack?: { entry: string; units: number }
  /** Computed from entries that another system has booked: see import/. */
  reckoned?: true
  account?: { id: string; name: string }
  audit?: object
}

export interface LedgerBooking {
  source: Source
  usage: Usage
  /** Units; credits are positive, debits negative. */
  amount: number
  /** A second booking with the same identity in a month is refused. */
  identity: string
  /** The account that it is about; usually the one whose money moves. */
  about: { id: string; name: string }
  details: EntryDetails
}

/** A booking that another part of the server requests: activation charges, top-ups, calls. Units, debits negative. */
export interface LedgerPosting extends Omit<LedgerBooking, 'about' | 'identity'> {
  identity: readonly unknown[]
  /**
   * The Gregorian second of what is booked. It is the first part of the identity, so that bookings next to each other in
   * time are stored on the same pages. With another second the same booking is not refused: callers detect repeats otherwise.
   */
  time?: number
  about?: LedgerBooking['about']
}

export interface LedgerEntryRow {
  id: string
  /** Gregorian seconds. */
  created: number
  /** Unix milliseconds. */
  madeAt: number
  /** Its number among the entries of the account, in the order in which they moved the balance. */
  ordinal: number
  source: Source
  usage: Usage
  amount: number
  /** Units that were available before the entry. */
  availableBefore: number
  details: EntryDetails
}

/** Amounts that would exceed the exactly representable range. */
export type Excess = 'amount' | 'quantity'

/** The 400 of a booking whose sums would be too large, with the field of the request. */
export const tooLarge =
  (fields: Readonly<Record<Excess, string>>) =>
  (excess: Excess): Failure => {
    const isMoney = excess === 'amount'
    const target = isMoney ? dollarsOfUnits(maxUnits) : maxUnits
    const message = isMoney
      ? `Balances and the sums of a month stay within ${target} dollars`
      : `The quantities of a month stay within ${target}`
    return invalid({ [fields[excess]]: { maximum: { message, target } } })
  }

/** Entries of this service carry a month's balance into the next. They move no money. */
export const rolloverService = 'rollovers'

/** The service of what Kazoo booked before it had ledgers. */
export const olderService = 'legacy'

export const rolloverId = (month: number) => `${month}-ledgers_monthly_rollover`

/** The month that begins with this Gregorian second, if one does. */
export const monthBeginningAt = (gregorianSeconds: number): number | undefined => {
  const month = monthNumber(unixOfGregorian(gregorianSeconds) * 1000)
  return gregorianOfMonth(month) === gregorianSeconds ? month : undefined
}

/** The other side of an account's postings. */
export const counterBook = (service: string) =>
  service === 'payments' ? 'cash' : service === rolloverService ? 'previous month' : `revenue: ${service}`

export const entryJson = (entry: LedgerEntryRow) => {
  const { id, created, madeAt, source, usage, amount, availableBefore, details } = entry
  const { audit, ...rest } = shownDetails(details)
  return {
    id,
    ...rest,
    source,
    usage,
    amount: dollarsOfUnits(amount),
    audit: { ...audit, available_units: availableBefore },
    created,
    created_ms: gregorianMilliseconds(madeAt),
  }
}

export const shownDetails = ({
  act: _,
  agreed: __,
  givesBack: ___,
  reckoned: ____,
  ...details
}: EntryDetails) => details

export interface SourceSum {
  service: string
  forAccountId: string
  amount: number
  usage: Usage
}

const addSums = (a: SourceSum, b: SourceSum): SourceSum => ({
  ...a,
  amount: a.amount + b.amount,
  usage: { ...a.usage, quantity: a.usage.quantity + b.usage.quantity },
})

/** One sum for each source and account. */
export const sourceSums = (bookings: readonly LedgerBooking[]): SourceSum[] => {
  const sums = bookings.map(({ source: { service }, about: { id: forAccountId }, amount, usage }) => {
    return { service, forAccountId, amount, usage }
  })
  const groups = Map.groupBy(sums, ({ service, forAccountId }) => JSON.stringify([service, forAccountId]))
  return [...groups.values()].map((same) => same.reduce(addSums))
}

/** Source -> its sum in dollars, with the type and unit of its last row. */
export const sumsJson = (sums: readonly SourceSum[]) =>
  Object.fromEntries(
    [...Map.groupBy(sums, ({ service }) => service)].map(([service, same]) => {
      const { amount, usage } = same.toReversed().reduce(addSums)
      return [service, { amount: dollarsOfUnits(amount), usage }]
    }),
  )

/** A row of the CSV, with accountants' headings. Metadata have a column each. */
export const csvRow = (entry: LedgerEntryRow) => {
  const { id, source, usage, amount, created, created_ms, ...details } = entryJson(entry)
  const { description, period, metadata = {} } = details
  return {
    id,
    'Source ID': source.id,
    'Source Service': source.service,
    'Usage Quantity': usage.quantity,
    'Usage Type': usage.type,
    'Usage Unit': usage.unit,
    Amount: amount,
    Description: description,
    Created: created,
    'Created Milliseconds': created_ms,
    'Start Time': period?.start,
    'End Time': period?.end,
    ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata_${key}`, value])),
  }
}

// Refunds of charges for something that failed: the same amount, however prices, plans and counts have changed since.

/** A part of a charge that is refunded. */
export interface GivenBack {
  charge: LedgerEntryRow
  /** Units of money, positive. */
  amount: number
  /** How many items; 0 for a tax. */
  units: number
}

type Gone = Parameters<typeof unitsMoved>[1][number]

const part = (whole: number, of: number, all: number) =>
  Number(divideRounded(BigInt(whole) * BigInt(of), BigInt(all)))

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

const backOf = (entries: readonly LedgerEntryRow[], { id }: LedgerEntryRow) =>
  entries.filter(({ details }) => details.givesBack?.entry === id)

const chargesIn = (entries: readonly LedgerEntryRow[]) =>
  entries.flatMap((entry) => {
    const { agreed } = entry.details
    if (!agreed?.counting || entry.amount >= 0 || agreed.units <= 0) return []
    const back = backOf(entries, entry)
    return [
      {
        entry,
        counting: agreed.counting,
        units: agreed.units,
        // What was refunded before.
        unitsBack: sum(back.map(({ details }) => details.givesBack?.units ?? 0)),
        amountBack: sum(back.map(({ amount }) => amount)),
      },
    ]
  })

/** A tax is refunded in proportion to the charges that it was on. */
const taxesBack = (
  entries: readonly LedgerEntryRow[],
  charges: ReturnType<typeof chargesIn>,
  going: readonly GivenBack[],
) => {
  const charged = sum(charges.map(({ entry }) => -entry.amount))
  const gone = sum(charges.map(({ amountBack }) => amountBack)) + sum(going.map(({ amount }) => amount))
  const taxes = entries.filter(({ source, amount }) => source.service === 'taxes' && amount < 0)
  return taxes.map((charge): GivenBack => {
    const before = sum(backOf(entries, charge).map(({ amount }) => amount))
    return { charge, units: 0, amount: part(-charge.amount, gone, charged) - before }
  })
}

/** The charges of one act, and their refunds. Older charges name no act. */
export const ofAct = (
  entries: readonly LedgerEntryRow[],
  act: string | undefined,
): readonly LedgerEntryRow[] => {
  const of = (wanted: string | undefined) => entries.filter(({ details }) => details.act === wanted)
  const charges = act === undefined || of(act).length === 0 ? of(undefined) : of(act)
  const ids = new Set(charges.map(({ id }) => id))
  return entries.filter(({ id, details: { givesBack } }) => ids.has(id) || ids.has(givesBack?.entry ?? ''))
}

/** The refunds of a request's charges when counts that it had raised fall. `gone` contains negative deltas. */
export const givenBack = (entries: readonly LedgerEntryRow[], gone: readonly Gone[]): GivenBack[] => {
  const charges = chargesIn(entries)
  const left = new Map<string, number>()
  const going = charges.map(({ entry, counting, units, unitsBack, amountBack }): GivenBack => {
    // Several charges of one request for the same item share the refunded units.
    const key = JSON.stringify([entry.source, counting])
    const wanted = left.get(key) ?? -unitsMoved(counting, gone)
    const back = Math.max(0, Math.min(wanted, units - unitsBack))
    left.set(key, wanted - back)
    return { charge: entry, units: back, amount: part(-entry.amount, unitsBack + back, units) - amountBack }
  })
  return [...going, ...taxesBack(entries, charges, going)].filter(({ amount }) => amount > 0)
}

// Imported ledgers: each month names its opening balance. Where that differs from the closing balance of the month
// before, a correction entry at the end of that month covers the difference.

export const correctionService = 'month_corrections'

const correctionId = (month: number) => `${month}-ledgers_monthly_correction`

/** An imported month. Units. */
export interface ImportedMonth {
  month: number
  /** The sum of its entries, without the opening balance. */
  moved: number
  /** Its opening balance; undefined if it names none. */
  rollover: number | undefined
}

/** An entry that is computed from imported ones. Units. */
export interface Reckoned {
  id: string
  kind: 'rollover' | 'correction'
  /** The month that begins. */
  month: number
  amount: number
}

/** The entries to add so that each month opens with its balance, the balance, and the last month. Months come oldest first. */
export const reckoned = (months: readonly ImportedMonth[], monthBefore: (month: number) => number) => {
  const entries: Reckoned[] = []
  let units = 0
  for (const { month, moved, rollover } of months) {
    const missing = (rollover ?? units) - units
    if (missing !== 0)
      entries.push({ id: correctionId(monthBefore(month)), kind: 'correction', month, amount: missing })
    if (rollover === undefined && units !== 0)
      entries.push({ id: rolloverId(month), kind: 'rollover', month, amount: units })
    units += missing + moved
  }
  return { entries, units, month: months.at(-1)?.month }
}

/** Months in groups of at most `max` entries, in their order; a larger month has its own group. */
export const monthsTogether = (counts: ReadonlyMap<number, number>, max: number): number[][] => {
  const groups: number[][] = []
  let size = 0
  for (const [month, count] of counts) {
    const last = groups.at(-1)
    size += count
    if (last && size <= max) last.push(month)
    else {
      groups.push([month])
      size = count
    }
  }
  return groups
}
