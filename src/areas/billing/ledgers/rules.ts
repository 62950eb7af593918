import { type Failure, invalid } from '../../../lib/failure.ts'
import { gregorianMilliseconds, unixOfGregorian } from '../../../lib/gregorian.ts'
import { dollarsOfUnits, maxUnits } from '../../../lib/money.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { Counting } from '../services/agreed.rules.ts'

export interface Usage {
  type: string
  quantity: number
  unit: string
}

export interface Source {
  service: string
  id: string
}

/** Gregorian seconds. */
interface Period {
  start: number
  end?: number
}

/** What is kept of an entry beside its columns. */
export interface EntryDetails {
  description?: string
  period?: Period
  metadata?: Record<string, unknown>
  executor?: { trigger: string; module: string }
  /** Of a charge: what it was made with, of all that bears the id of its request. Shown to nobody. */
  act?: string
  /** Of a charge: what it was for, and how many. Kept for the way back, shown to nobody. */
  agreed?: { counting: Counting; units: number }
  /** Of what is given back: which charge, and how much of it. Shown to nobody. */
  givesBack?: { entry: string; units: number }
  /** Follows from entries that another system has booked: see arriving/. Shown to nobody. */
  reckoned?: true
  account?: { id: string; name: string }
  audit?: object
}

/** A booking that is to be made. */
export interface LedgerBooking {
  source: Source
  usage: Usage
  /** Units; credits are positive, debits negative. */
  amount: number
  /** What makes the booking the same as another one: booked twice in a month, the second is refused. */
  identity: string
  /** The account that it is about, when that is not the one whose money moves. */
  about: { id: string; name: string }
  details: EntryDetails
}

/** A booking that somebody else asks for: activation charges, top-ups, calls. Money in units, debits negative. */
export interface LedgerPosting extends Omit<LedgerBooking, 'about' | 'identity'> {
  /** Makes the booking happen once: the same one in the same month is refused. */
  identity: readonly unknown[]
  /**
   * The Gregorian second of what is booked: a part of the identity that comes first, so that of thousands that come in together those
   * next to each other in time are so in the store, on few of its pages. The same one with another second is not refused: for those
   * that are known by something else already, as a call is by its record.
   */
  time?: number
  about?: LedgerBooking['about']
}

/** An entry as it is stored. */
export interface Entry {
  id: string
  /** Gregorian seconds. */
  created: number
  /** Unix milliseconds. */
  madeAt: number
  /** Its place among the entries of the account, in the order in which they moved the balance. */
  ordinal: number
  source: Source
  usage: Usage
  amount: number
  /** Units that were available before the entry. */
  availableBefore: number
  details: EntryDetails
}

/** What would become too large to be shown exactly. */
export type Excess = 'amount' | 'quantity'

/** The 400 of a booking that cannot be shown: with the field of the request that is too much. */
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

/** Carries a month's balance into the next. It moves no money. */
export const rolloverService = 'rollovers'

/** What another system has booked by means that are older than its ledgers. */
export const olderService = 'legacy'

export const rolloverId = (month: number) => `${month}-ledgers_monthly_rollover`

/** 202611 for November 2026. */
export const monthNumber = (unixMilliseconds: number) => Number(monthOf(unixMilliseconds))

/** The month whose first second this is (Gregorian seconds), if it is one. */
export const monthBeginningAt = (gregorianSeconds: number): number | undefined => {
  const unix = unixOfGregorian(gregorianSeconds)
  const at = new Date(unix * 1000)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1) === at.getTime()
    ? monthNumber(at.getTime())
    : undefined
}

/** The book against which an account's book moves. */
export const counterBook = (service: string) =>
  service === 'payments' ? 'cash' : service === rolloverService ? 'previous month' : `revenue: ${service}`

export const entryJson = (entry: Entry) => {
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

/** What somebody sees of how an entry came about. */
export const shownDetails = ({
  act: _,
  agreed: __,
  givesBack: ___,
  reckoned: ____,
  ...details
}: EntryDetails) => details

/** What a source comes to in some time. */
export interface SourceSum {
  service: string
  forAccountId: string
  amount: number
  usage: Usage
}

/** What bookings of one source about one account come to. */
export const sumOf = (bookings: readonly [LedgerBooking, ...LedgerBooking[]]): SourceSum => {
  const [{ source, about, usage }] = bookings
  const total = (of: (booking: LedgerBooking) => number) => bookings.reduce((sum, one) => sum + of(one), 0)
  return {
    service: source.service,
    forAccountId: about.id,
    amount: total(({ amount }) => amount),
    usage: { ...usage, quantity: total((booking) => booking.usage.quantity) },
  }
}

/** Source -> what it comes to in dollars. */
export const sumsJson = (sums: readonly SourceSum[]) => {
  const bySource = new Map<string, { amount: number; usage: Usage }>()
  for (const { service, amount, usage } of sums) {
    const known = bySource.get(service)
    const quantity = (known?.usage.quantity ?? 0) + usage.quantity
    bySource.set(service, { amount: (known?.amount ?? 0) + amount, usage: { ...usage, quantity } })
  }
  return Object.fromEntries(
    [...bySource].map(([service, { amount, usage }]) => [service, { amount: dollarsOfUnits(amount), usage }]),
  )
}

/** The row of a CSV, with the headings of people who keep books. Metadata have a column each. */
export const csvRow = (entry: Entry) => {
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
