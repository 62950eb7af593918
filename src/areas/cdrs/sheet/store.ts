import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import type { CsvCell, CsvQuery } from '../../../storage/csv-lines.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import { careColumns, columnsFor, type SheetColumn, writableSeconds } from '../rules.ts'

// The lines of a CSV file as the store writes them, the same ones as `csvLineOf` in rules.ts.

const unixStart = `(created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset})`

const writable = (seconds: string, text: string) =>
  `CASE WHEN ${seconds} BETWEEN ${writableSeconds.first} AND ${writableSeconds.last} THEN ${text} END`

const isoDate = ({ dateAndTime }: SqlWords) => `substr(${dateAndTime(unixStart)}, 1, 10)`

const byDirection = (inbound: string, outbound: string) =>
  `CASE call_direction WHEN 'inbound' THEN ${inbound} WHEN 'outbound' THEN ${outbound} END`

const money = ({ joined, padded }: SqlWords, units: string) =>
  `CASE WHEN ${units} IS NOT NULL THEN
    rtrim(rtrim(${joined([`${units} / 10000`, "'.'", padded(`${units} % 10000`, 4)])}, '0'), '.') END`

const unixMicro = ({ joined, padded }: SqlWords) =>
  `CASE WHEN channel_created_time >= 0
    THEN ${joined(['channel_created_time / 1000000', "'.'", padded('channel_created_time % 1000000', 6)])}
    ELSE ${joined([unixStart, "'.000000'"])} END`

const recordings = `CASE WHEN substr(media_recordings, 1, 1) = '[' THEN media_recordings
  ELSE '[' || media_recordings || ']' END`

/** The cells as they are, before quotes and apostrophes. NULL is nothing. */
const cellsOf = (words: SqlWords, utcOffset: string): Record<SheetColumn, string> => ({
  id: 'id',
  call_id: 'substr(id, 8)',
  caller_id_number: 'caller_id_number',
  caller_id_name: 'caller_id_name',
  callee_id_number: 'callee_id_number',
  callee_id_name: 'callee_id_name',
  duration_seconds: 'duration_seconds',
  billing_seconds: 'billing_seconds',
  timestamp: 'created - COALESCE(duration_seconds, 0)',
  hangup_cause: 'hangup_cause',
  other_leg_call_id: 'other_leg_call_id',
  owner_id: 'owner_id',
  to: 'sip_to',
  from: 'sip_from',
  direction: 'call_direction',
  request: 'sip_request',
  authorizing_id: 'NULLIF(authorizing_id, account_id)',
  cost: 'cost',
  dialed_number: byDirection(words.before('sip_request', '@'), words.before('sip_to', '@')),
  calling_from: byDirection('caller_id_number', words.before('from_uri', '@')),
  datetime: writable(`(${unixStart} + ${utcOffset})`, words.dateAndTime(`(${unixStart} + ${utcOffset})`)),
  unix_timestamp: unixStart,
  unix_timestamp_micro: unixMicro(words),
  rfc_1036: writable(unixStart, words.httpDate(unixStart)),
  iso_8601: writable(unixStart, isoDate(words)),
  iso_8601_combined: writable(unixStart, words.isoDateAndTime(unixStart)),
  call_type: 'account_billing',
  rate: money(words, 'rate'),
  rate_name: 'rate_name',
  bridge_id: 'bridge_id',
  recording_url: 'recording_url',
  media_recordings: recordings,
  media_server: 'media_server',
  call_priority: 'call_priority',
  interaction_id: words.joined(['interaction_time', "'-'", 'interaction_key']),
  reseller_cost: 'reseller_cost',
  reseller_call_type: 'reseller_billing',
})

const bitOf = (name: SheetColumn) => {
  const place = (careColumns as readonly SheetColumn[]).indexOf(name)
  return place < 0 ? 0 : 1 << place
}

// Addresses like +4930123@example.com are the rule.
const oftenGuarded: ReadonlySet<SheetColumn> = new Set<SheetColumn>(['to', 'from', 'request'])
const seldomGuardedBits = careColumns
  .filter((name) => !oftenGuarded.has(name))
  .reduce((bits, name) => bits | bitOf(name), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const cellOf = (name: SheetColumn, value: string): CsvCell => {
  // It holds a comma.
  if (name === 'rfc_1036') return { value, alwaysQuoted: true }
  const bit = bitOf(name)
  if (bit === 0) return { value }
  return {
    value,
    quotedWhen: `(csv_quoted & ${bit}) <> 0`,
    guardedWhen: `(csv_guarded & ${bit}) <> 0`,
    oftenGuarded: oftenGuarded.has(name),
  }
}

/** How the store writes the lines of legs. `utcOffset` is the placeholder of the seconds added for `datetime`. */
export const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'plainWhen'> => {
  const values = cellsOf(words, utcOffset)
  return { cells: columnsFor(forReseller).map((name) => cellOf(name, values[name])), plainWhen }
}
