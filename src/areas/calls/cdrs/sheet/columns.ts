// The columns of lists, CSV files and tasks. `of` computes a cell in memory, `sql` in the store, with the same text.
import { daySeconds, gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import type { SqlWords } from '../../../../storage/sql-words.ts'
import {
  type CdrRow,
  callIdOf,
  interactionIdOf,
  isPricedForReseller,
  isPricedForResellerSql,
  legStartOf,
  tellsPrice,
} from '../columns.ts'

export type Leg = Omit<CdrRow, 'csv_quoted' | 'csv_guarded'>
export type CellValue = string | number | readonly unknown[] | null

export interface RowView {
  /** Seconds added to the start for column `datetime`. */
  utcOffset: number
  /** Resellers see their cost. */
  forReseller: boolean
  /** JSON rows leave out keys without a value. */
  omitsEmpty: boolean
}

/** SQL of a cell without quoting; NULL if empty. `utcOffset`: seconds that are added to `datetime`. */
type CellSql = string | ((words: SqlWords, utcOffset: string) => string)

interface SheetLine {
  name: string
  of(leg: Leg, view: RowView): CellValue
  sql: CellSql
  /** For the API reference. */
  about?: string
  /** Text unless set. */
  holds?: 'integer' | 'list'
  isFilled?: true
  /**
   * Set if the cell can contain any text: its bit in `csv_quoted` and `csv_guarded`. These are stored, so a bit never
   * changes and a new column gets the next one.
   */
  careBit?: number
  /** Needs an apostrophe often: addresses such as +4930123@example.com. */
  isOftenGuarded?: true
  hasComma?: true
}

type StoredCell = Exclude<keyof CdrRow, 'media_recordings' | 'csv_quoted' | 'csv_guarded'>

const storedCell = <const Name extends string>(
  name: Name,
  sql: StoredCell,
  more: Omit<SheetLine, 'name' | 'of' | 'sql'> = {},
) => ({ name, of: (leg: Leg): CellValue => leg[sql], sql, ...more })

const timed = <const Name extends string>(
  name: Name,
  of: (leg: Timed, view: RowView) => string | null,
  sql: CellSql,
  more: Omit<SheetLine, 'name' | 'of' | 'sql'> = {},
) => ({ name, of, sql, ...more })

// Years 1 to 9999: other years are written differently by the two databases.
const firstUnixSecond = -62_135_596_800
const lastUnixSecond = 253_402_300_799

/** Consecutive rows often have the same day. */
let latestDay = { number: Number.NaN, iso: '', http: '' }

/** A day since 1970 as `2026-02-07` and as `Sat, 07 Feb 2026 `. */
const dayTexts = (number: number) => {
  if (latestDay.number === number) return latestDay
  const date = new Date(number * daySeconds * 1000)
  latestDay = { number, iso: date.toISOString().slice(0, 10), http: date.toUTCString().slice(0, 17) }
  return latestDay
}

const sixty = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

const clockText = (seconds: number) =>
  `${sixty[Math.floor(seconds / 3600)]}:${sixty[Math.floor(seconds / 60) % 60]}:${sixty[seconds % 60]}`

/** The cells of a row use the same second. */
let latestSecond = { number: Number.NaN, iso: '', http: '', clock: '' }

/** Undefined if the time cannot be written as a date. */
const timeTexts = (unixSeconds: number) => {
  if (latestSecond.number === unixSeconds) return latestSecond
  if (unixSeconds < firstUnixSecond || unixSeconds > lastUnixSecond) return undefined
  const day = Math.floor(unixSeconds / daySeconds)
  const { iso, http } = dayTexts(day)
  latestSecond = { number: unixSeconds, iso, http, clock: clockText(unixSeconds - day * daySeconds) }
  return latestSecond
}

export type Timed = Pick<Leg, 'created' | 'duration_seconds' | 'channel_created_time'>

const unixStartOf = (leg: Timed) => legStartOf(leg) - gregorianUnixOffset

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
  const texts = timeTexts(unixStartOf(leg) + utcOffset)
  return texts ? `${texts.iso} ${texts.clock}` : null
}

const isoTime = (leg: Timed) => {
  const texts = timeTexts(unixStartOf(leg))
  return texts ? `${texts.iso}T${texts.clock}Z` : null
}

const httpTime = (leg: Timed) => {
  const texts = timeTexts(unixStartOf(leg))
  return texts ? `${texts.http}${texts.clock} GMT` : null
}

const unixStart = `(created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset})`

const writable = (seconds: string, text: string) =>
  `CASE WHEN ${seconds} BETWEEN ${firstUnixSecond} AND ${lastUnixSecond} THEN ${text} END`

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

/** In the store these columns take more time than the rest of a row. */
export const timeSheet = [
  timed('datetime', startTime, startTimeSql, { about: 'Start, YYYY-MM-DD HH:MM:SS, moved by utc_offset' }),
  timed('unix_timestamp', (leg) => String(unixStartOf(leg)), unixStart, {
    about: 'Start, Unix seconds',
    isFilled: true,
  }),
  timed('unix_timestamp_micro', unixMicroText, unixMicro, {
    about: 'Creation of the channel, Unix seconds with six decimals',
    isFilled: true,
  }),
  timed('rfc_1036', httpTime, (words) => writable(unixStart, datesOf(words).httpDate(unixStart)), {
    hasComma: true,
  }),
  timed(
    'iso_8601',
    (leg) => timeTexts(unixStartOf(leg))?.iso ?? null,
    (words) => writable(unixStart, isoDate(words)),
    { about: 'Date of the start' },
  ),
  timed('iso_8601_combined', isoTime, (words) =>
    writable(unixStart, datesOf(words).isoDateAndTime(unixStart)),
  ),
] as const

const accountSheet = [
  storedCell('id', 'id', { about: 'YYYYMM-<call_id>', isFilled: true, careBit: 0 }),
  { name: 'call_id', of: (leg) => callIdOf(leg.id), sql: 'substr(id, 8)', isFilled: true, careBit: 1 },
  storedCell('caller_id_number', 'caller_id_number', { careBit: 2 }),
  storedCell('caller_id_name', 'caller_id_name', { careBit: 3 }),
  storedCell('callee_id_number', 'callee_id_number', { careBit: 4 }),
  storedCell('callee_id_name', 'callee_id_name', { careBit: 5 }),
  storedCell('duration_seconds', 'duration_seconds', { about: 'Duration of the leg', holds: 'integer' }),
  storedCell('billing_seconds', 'billing_seconds', { about: 'Seconds since the answer', holds: 'integer' }),
  {
    name: 'timestamp',
    of: (leg) => String(legStartOf(leg)),
    sql: 'created - COALESCE(duration_seconds, 0)',
    about: 'Start of the leg, Gregorian seconds',
    isFilled: true,
  },
  storedCell('hangup_cause', 'hangup_cause', { careBit: 6 }),
  storedCell('other_leg_call_id', 'other_leg_call_id', { careBit: 7 }),
  storedCell('owner_id', 'owner_id', { about: 'User of the call', careBit: 8 }),
  storedCell('to', 'sip_to', { careBit: 9, isOftenGuarded: true }),
  storedCell('from', 'sip_from', { careBit: 10, isOftenGuarded: true }),
  storedCell('direction', 'call_direction', {
    about: 'inbound or outbound, as the media switch sees it',
    careBit: 11,
  }),
  storedCell('request', 'sip_request', { careBit: 12, isOftenGuarded: true }),
  {
    name: 'authorizing_id',
    of: (leg) => (leg.authorizing_id === leg.account_id ? null : leg.authorizing_id),
    sql: 'NULLIF(authorizing_id, account_id)',
    about: 'Usually the device',
    careBit: 13,
  },
  {
    name: 'cost',
    of: (leg) => String(leg.cost),
    sql: 'cost',
    about: 'Units, 10,000 to one',
    isFilled: true,
  },
  { name: 'dialed_number', of: dialledNumber, sql: dialledNumberSql, careBit: 14 },
  { name: 'calling_from', of: callingFrom, sql: callingFromSql, careBit: 15 },
  ...timeSheet,
  storedCell('call_type', 'account_billing', { careBit: 16 }),
  {
    name: 'rate',
    of: (leg) => (leg.rate === null ? null : moneyText(leg.rate)),
    sql: (words) => money(words, 'rate'),
    about: 'Price of a minute in money',
  },
  storedCell('rate_name', 'rate_name', { careBit: 17 }),
  storedCell('bridge_id', 'bridge_id', { careBit: 18 }),
  storedCell('recording_url', 'recording_url', { careBit: 19 }),
  { name: 'media_recordings', of: recordings, sql: recordingsList, holds: 'list', careBit: 20 },
  storedCell('media_server', 'media_server', { careBit: 21 }),
  storedCell('call_priority', 'call_priority', { careBit: 22 }),
  {
    name: 'interaction_id',
    of: (leg) => interactionIdOf(leg),
    sql: (words) => words.joined(['interaction_time', "'-'", 'interaction_key']),
    isFilled: true,
    careBit: 23,
  },
] as const satisfies readonly SheetLine[]

const forResellers = 'Only for resellers'

const resellerSheet = [
  ...accountSheet,
  {
    name: 'reseller_cost',
    of: (leg) => String(leg.reseller_cost),
    sql: 'reseller_cost',
    about: forResellers,
  },
  storedCell('reseller_call_type', 'reseller_billing', { about: forResellers, careBit: 24 }),
] as const satisfies readonly SheetLine[]

export type SheetColumn = (typeof resellerSheet)[number]['name']

export interface SheetCell extends SheetLine {
  name: SheetColumn
}

export const sqlOf = ({ sql }: SheetCell, words: SqlWords, utcOffset: string) =>
  typeof sql === 'string' ? sql : sql(words, utcOffset)

/** The cell, empty if only the reseller pays per minute. */
const ownPriceAlone = (cell: SheetCell): SheetCell => ({
  ...cell,
  of: (leg, view) => (isPricedForReseller(leg) ? null : cell.of(leg, view)),
  sql: (words, utcOffset) =>
    `CASE WHEN NOT ${isPricedForResellerSql} THEN ${sqlOf(cell, words, utcOffset)} END`,
})

const customerSheet = accountSheet.map(
  (cell): SheetCell => (tellsPrice(cell.name) ? ownPriceAlone(cell) : cell),
)

const sheets: Readonly<Record<'customer' | 'reseller', readonly SheetCell[]>> = {
  customer: customerSheet,
  reseller: resellerSheet,
}

export const sheetFor = (forReseller: boolean) => (forReseller ? sheets.reseller : sheets.customer)

export const columnsFor = (forReseller: boolean): readonly SheetColumn[] =>
  sheetFor(forReseller).map(({ name }) => name)

/** 0 if the cell needs no care. */
export const careMaskOf = ({ careBit }: SheetCell) => (careBit === undefined ? 0 : 1 << careBit)
