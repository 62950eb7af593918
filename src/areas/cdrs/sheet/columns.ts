// What lists and CSV files show of a leg, in the order of their columns. Every column stands here with both of its
// makings: `of` makes the cell of a leg in memory, `sql` has the store make the same text.
import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import { type CdrRow, callIdOf, interactionIdOf, startOf } from '../columns.ts'
import { isPricedForReseller, isPricedForResellerSql, tellsPrice } from '../costs.ts'

export type Leg = Omit<CdrRow, 'csv_quoted' | 'csv_guarded'>
export type CellValue = string | number | readonly unknown[] | null

/** What a list's rows depend on beside the leg. */
export interface RowView {
  /** Seconds added to the start for column `datetime`. */
  utcOffset: number
  /** Resellers see what the call cost them. */
  forReseller: boolean
  /** JSON rows leave out keys without a value. */
  omitsEmpty: boolean
}

/** An expression of SQL, before quotes and apostrophes; NULL is nothing. `utcOffset`: seconds added for `datetime`. */
type CellSql = string | ((words: SqlWords, utcOffset: string) => string)

interface SheetLine {
  name: string
  of(leg: Leg, view: RowView): CellValue
  sql: CellSql
}

// Years 1 to 9999: what all readers, and both stores, write alike.
const firstUnixSecond = -62_135_596_800
const lastUnixSecond = 253_402_300_799

/** Unix seconds that can be written as a date. */
const writableSeconds = { first: firstUnixSecond, last: lastUnixSecond } as const

const daySeconds = 86_400

/** The days that lists ask for one row after the other. */
let latestDay = { number: Number.NaN, iso: '', http: '' }

/** A day of UTC, counted from 1970, as `2026-02-07` and as `Sat, 07 Feb 2026 `. */
const dayOf = (number: number) => {
  if (latestDay.number === number) return latestDay
  const date = new Date(number * daySeconds * 1000)
  latestDay = { number, iso: date.toISOString().slice(0, 10), http: date.toUTCString().slice(0, 17) }
  return latestDay
}

const sixty = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

/** Seconds of a day as `09:15:02`. */
const clockText = (seconds: number) =>
  `${sixty[Math.floor(seconds / 3600)]}:${sixty[Math.floor(seconds / 60) % 60]}:${sixty[seconds % 60]}`

/** The second that one cell of a leg asks for after the other. */
let latestSecond = { number: Number.NaN, iso: '', http: '', clock: '' }

/** Unix seconds as texts; undefined where they cannot be written as a date. */
const textsOf = (unixSeconds: number) => {
  if (latestSecond.number === unixSeconds) return latestSecond
  if (unixSeconds < firstUnixSecond || unixSeconds > lastUnixSecond) return undefined
  const day = Math.floor(unixSeconds / daySeconds)
  const { iso, http } = dayOf(day)
  latestSecond = { number: unixSeconds, iso, http, clock: clockText(unixSeconds - day * daySeconds) }
  return latestSecond
}

/** What times of a leg are made of. */
export type Timed = Pick<Leg, 'created' | 'duration_seconds' | 'channel_created_time'>

const unixStartOf = (leg: Timed) => startOf(leg) - gregorianUnixOffset

const beforeAt = (address: string | null) => {
  if (address === null) return null
  const at = address.indexOf('@')
  return at < 0 ? address : address.slice(0, at)
}

const dialledNumber = ({ call_direction, sip_request, sip_to }: Leg) => {
  if (call_direction === 'inbound') return beforeAt(sip_request)
  return call_direction === 'outbound' ? beforeAt(sip_to) : null
}

const callingFrom = ({ call_direction, caller_id_number, from_uri }: Leg) => {
  if (call_direction === 'inbound') return caller_id_number
  return call_direction === 'outbound' ? beforeAt(from_uri) : null
}

const unixMicroText = (leg: Timed) => {
  const created = leg.channel_created_time
  if (created === null || created < 0) return `${unixStartOf(leg)}.000000`
  return `${Math.floor(created / 1e6)}.${String(created % 1e6).padStart(6, '0')}`
}

/** Units, 10,000 to the dollar, as dollars. */
const moneyText = (units: number) => {
  const size = Math.abs(units)
  const fraction = String(size % 10_000)
    .padStart(4, '0')
    .replace(/0+$/, '')
  return `${units < 0 ? '-' : ''}${Math.floor(size / 10_000)}${fraction && `.${fraction}`}`
}

const recordings = ({ media_recordings: text }: Leg): CellValue => {
  if (text === null) return null
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value : [value]
}

const startTime = (leg: Timed, { utcOffset }: RowView) => {
  const texts = textsOf(unixStartOf(leg) + utcOffset)
  return texts ? `${texts.iso} ${texts.clock}` : null
}

const isoTime = (leg: Timed) => {
  const texts = textsOf(unixStartOf(leg))
  return texts ? `${texts.iso}T${texts.clock}Z` : null
}

const httpTime = (leg: Timed) => {
  const texts = textsOf(unixStartOf(leg))
  return texts ? `${texts.http}${texts.clock} GMT` : null
}

const unixStart = `(created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset})`

const writable = (seconds: string, text: string) =>
  `CASE WHEN ${seconds} BETWEEN ${writableSeconds.first} AND ${writableSeconds.last} THEN ${text} END`

const datesOf = ({ dates }: SqlWords) => {
  if (!dates) throw new Error('the store writes no dates')
  return dates
}

const isoDate = (words: SqlWords) => `substr(${datesOf(words).dateAndTime(unixStart)}, 1, 10)`

const byDirection = (inbound: string, outbound: string) =>
  `CASE call_direction WHEN 'inbound' THEN ${inbound} WHEN 'outbound' THEN ${outbound} END`

const money = ({ joined, padded }: SqlWords, units: string) =>
  `CASE WHEN ${units} IS NOT NULL THEN
    rtrim(rtrim(${joined([`${units} / 10000`, "'.'", padded(`${units} % 10000`, 4)])}, '0'), '.') END`

const unixMicro = ({ joined, padded }: SqlWords) =>
  `CASE WHEN channel_created_time >= 0
    THEN ${joined(['channel_created_time / 1000000', "'.'", padded('channel_created_time % 1000000', 6)])}
    ELSE ${joined([unixStart, "'.000000'"])} END`

const recordingsList = `CASE WHEN substr(media_recordings, 1, 1) = '[' THEN media_recordings
  ELSE '[' || media_recordings || ']' END`

const dialledNumberSql = ({ before }: SqlWords) =>
  byDirection(before('sip_request', '@'), before('sip_to', '@'))

const callingFromSql = ({ before }: SqlWords) => byDirection('caller_id_number', before('from_uri', '@'))

const startTimeSql = (words: SqlWords, utcOffset: string) =>
  writable(`(${unixStart} + ${utcOffset})`, datesOf(words).dateAndTime(`(${unixStart} + ${utcOffset})`))

/** Columns of times. In the store they cost more than the rest of a row together. */
export const timeSheet = [
  { name: 'datetime', of: startTime, sql: startTimeSql },
  { name: 'unix_timestamp', of: (leg: Timed) => String(unixStartOf(leg)), sql: unixStart },
  { name: 'unix_timestamp_micro', of: unixMicroText, sql: unixMicro },
  {
    name: 'rfc_1036',
    of: httpTime,
    sql: (words: SqlWords) => writable(unixStart, datesOf(words).httpDate(unixStart)),
  },
  {
    name: 'iso_8601',
    of: (leg: Timed) => textsOf(unixStartOf(leg))?.iso ?? null,
    sql: (words: SqlWords) => writable(unixStart, isoDate(words)),
  },
  {
    name: 'iso_8601_combined',
    of: isoTime,
    sql: (words: SqlWords) => writable(unixStart, datesOf(words).isoDateAndTime(unixStart)),
  },
] as const

const accountSheet = [
  { name: 'id', of: (leg) => leg.id, sql: 'id' },
  { name: 'call_id', of: (leg) => callIdOf(leg.id), sql: 'substr(id, 8)' },
  { name: 'caller_id_number', of: (leg) => leg.caller_id_number, sql: 'caller_id_number' },
  { name: 'caller_id_name', of: (leg) => leg.caller_id_name, sql: 'caller_id_name' },
  { name: 'callee_id_number', of: (leg) => leg.callee_id_number, sql: 'callee_id_number' },
  { name: 'callee_id_name', of: (leg) => leg.callee_id_name, sql: 'callee_id_name' },
  { name: 'duration_seconds', of: (leg) => leg.duration_seconds, sql: 'duration_seconds' },
  { name: 'billing_seconds', of: (leg) => leg.billing_seconds, sql: 'billing_seconds' },
  { name: 'timestamp', of: (leg) => String(startOf(leg)), sql: 'created - COALESCE(duration_seconds, 0)' },
  { name: 'hangup_cause', of: (leg) => leg.hangup_cause, sql: 'hangup_cause' },
  { name: 'other_leg_call_id', of: (leg) => leg.other_leg_call_id, sql: 'other_leg_call_id' },
  { name: 'owner_id', of: (leg) => leg.owner_id, sql: 'owner_id' },
  { name: 'to', of: (leg) => leg.sip_to, sql: 'sip_to' },
  { name: 'from', of: (leg) => leg.sip_from, sql: 'sip_from' },
  { name: 'direction', of: (leg) => leg.call_direction, sql: 'call_direction' },
  { name: 'request', of: (leg) => leg.sip_request, sql: 'sip_request' },
  {
    name: 'authorizing_id',
    of: (leg) => (leg.authorizing_id === leg.account_id ? null : leg.authorizing_id),
    sql: 'NULLIF(authorizing_id, account_id)',
  },
  { name: 'cost', of: (leg) => String(leg.cost), sql: 'cost' },
  { name: 'dialed_number', of: dialledNumber, sql: dialledNumberSql },
  { name: 'calling_from', of: callingFrom, sql: callingFromSql },
  ...timeSheet,
  { name: 'call_type', of: (leg) => leg.account_billing, sql: 'account_billing' },
  {
    name: 'rate',
    of: (leg) => (leg.rate === null ? null : moneyText(leg.rate)),
    sql: (words) => money(words, 'rate'),
  },
  { name: 'rate_name', of: (leg) => leg.rate_name, sql: 'rate_name' },
  { name: 'bridge_id', of: (leg) => leg.bridge_id, sql: 'bridge_id' },
  { name: 'recording_url', of: (leg) => leg.recording_url, sql: 'recording_url' },
  { name: 'media_recordings', of: recordings, sql: recordingsList },
  { name: 'media_server', of: (leg) => leg.media_server, sql: 'media_server' },
  { name: 'call_priority', of: (leg) => leg.call_priority, sql: 'call_priority' },
  {
    name: 'interaction_id',
    of: (leg) => interactionIdOf(leg),
    sql: (words) => words.joined(['interaction_time', "'-'", 'interaction_key']),
  },
] as const satisfies readonly SheetLine[]

const resellerSheet = [
  ...accountSheet,
  { name: 'reseller_cost', of: (leg) => String(leg.reseller_cost), sql: 'reseller_cost' },
  { name: 'reseller_call_type', of: (leg) => leg.reseller_billing, sql: 'reseller_billing' },
] as const satisfies readonly SheetLine[]

export type SheetColumn = (typeof resellerSheet)[number]['name']

/** Whether a cell holds a comma whenever it holds anything. */
export const hasComma = (column: SheetColumn) => column === 'rfc_1036'

export interface SheetCell extends SheetLine {
  name: SheetColumn
}

/** How the store makes a cell. */
export const sqlOf = ({ sql }: SheetCell, words: SqlWords, utcOffset: string) =>
  typeof sql === 'string' ? sql : sql(words, utcOffset)

/** The same cell, empty where the account does not pay for minutes but its reseller does. */
const ownPriceAlone = ({ name, of, sql }: SheetCell): SheetCell => ({
  name,
  of: (leg, view) => (isPricedForReseller(leg) ? null : of(leg, view)),
  sql: (words, utcOffset) =>
    `CASE WHEN NOT ${isPricedForResellerSql} THEN ${sqlOf({ name, of, sql }, words, utcOffset)} END`,
})

const customerSheet = accountSheet.map(
  (cell): SheetCell => (tellsPrice(cell.name) ? ownPriceAlone(cell) : cell),
)

const sheets: Readonly<Record<'customer' | 'reseller', readonly SheetCell[]>> = {
  customer: customerSheet,
  reseller: resellerSheet,
}

/** The columns that a caller sees, in order. */
export const sheetFor = (forReseller: boolean) => (forReseller ? sheets.reseller : sheets.customer)

export const columnsFor = (forReseller: boolean): readonly SheetColumn[] =>
  sheetFor(forReseller).map(({ name }) => name)

/**
 * The cells that can hold any text. The position of a name is its bit in `csv_quoted` and `csv_guarded`, which are
 * stored: names are only ever added at the end.
 */
const careColumns: readonly SheetColumn[] = [
  'id',
  'call_id',
  'caller_id_number',
  'caller_id_name',
  'callee_id_number',
  'callee_id_name',
  'hangup_cause',
  'other_leg_call_id',
  'owner_id',
  'to',
  'from',
  'direction',
  'request',
  'authorizing_id',
  'dialed_number',
  'calling_from',
  'call_type',
  'rate_name',
  'bridge_id',
  'recording_url',
  'media_recordings',
  'media_server',
  'call_priority',
  'interaction_id',
  'reseller_call_type',
]

/** The bit of a column in `csv_quoted` and `csv_guarded`; 0 where its cell is safe as it is. */
export const careMaskOf = (column: SheetColumn) => {
  const place = careColumns.indexOf(column)
  return place < 0 ? 0 : 1 << place
}
