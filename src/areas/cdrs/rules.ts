import { csvLine, isFormula, needsQuotes } from '../../lib/csv.ts'
import { gregorianUnixOffset } from '../../lib/gregorian.ts'
import type { Json } from '../../lib/json.ts'
import { type CdrRow, columns } from './columns.ts'
import { splitObject } from './json-text.ts'
import type { Place } from './reading/rules.ts'

// A leg in its three shapes: the document (GET one, legs, filters), the row of a list, the line of a CSV file.

type Leg = Omit<CdrRow, 'csv_quoted' | 'csv_guarded'>
type Value = string | number | readonly unknown[] | null

/** What a list's rows depend on beside the leg. */
export interface RowView {
  /** Seconds added to the start for column `datetime`. */
  utcOffset: number
  /** Resellers see what the call cost them. */
  forReseller: boolean
  /** JSON rows leave out keys without a value. */
  omitsEmpty: boolean
}

/** When the leg began, in Gregorian seconds: `timestamp` is when it ended. */
const startOf = ({ created, duration_seconds }: Leg) => created - (duration_seconds ?? 0)

// Years 1 to 9999: what all readers, and both stores, write alike.
const firstUnixSecond = -62_135_596_800
const lastUnixSecond = 253_402_300_799

/** Unix seconds that can be written as a date. */
export const writableSeconds = { first: firstUnixSecond, last: lastUnixSecond } as const

const dateOf = (unixSeconds: number) =>
  unixSeconds >= firstUnixSecond && unixSeconds <= lastUnixSecond ? new Date(unixSeconds * 1000) : undefined

let latestDate: { unixSeconds: number; iso: string; http: string } | undefined

/** The texts of a date. The latest ones are kept: a row asks for those of one second several times. */
const textsOf = (unixSeconds: number) => {
  if (latestDate?.unixSeconds === unixSeconds) return latestDate
  const date = dateOf(unixSeconds)
  if (!date) return undefined
  latestDate = { unixSeconds, iso: date.toISOString(), http: date.toUTCString() }
  return latestDate
}

const isoText = (unixSeconds: number, from: number, to: number) =>
  textsOf(unixSeconds)?.iso.slice(from, to) ?? null

const unixStartOf = (leg: Leg) => startOf(leg) - gregorianUnixOffset

const beforeAt = (address: string | null) => address && (address.split('@', 1)[0] as string)

const dialledNumber = ({ call_direction, sip_request, sip_to }: Leg) => {
  if (call_direction === 'inbound') return beforeAt(sip_request)
  return call_direction === 'outbound' ? beforeAt(sip_to) : null
}

const callingFrom = ({ call_direction, caller_id_number, from_uri }: Leg) => {
  if (call_direction === 'inbound') return caller_id_number
  return call_direction === 'outbound' ? beforeAt(from_uri) : null
}

const unixMicroText = (leg: Leg) => {
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

const recordings = ({ media_recordings: text }: Leg): readonly unknown[] | null => {
  if (text === null) return null
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value : [value]
}

/** The columns of rows and CSV files, in their order. */
const sheet = {
  id: (leg: Leg) => leg.id,
  call_id: (leg: Leg) => callIdOf(leg.id),
  caller_id_number: (leg: Leg) => leg.caller_id_number,
  caller_id_name: (leg: Leg) => leg.caller_id_name,
  callee_id_number: (leg: Leg) => leg.callee_id_number,
  callee_id_name: (leg: Leg) => leg.callee_id_name,
  duration_seconds: (leg: Leg) => leg.duration_seconds,
  billing_seconds: (leg: Leg) => leg.billing_seconds,
  timestamp: (leg: Leg) => String(startOf(leg)),
  hangup_cause: (leg: Leg) => leg.hangup_cause,
  other_leg_call_id: (leg: Leg) => leg.other_leg_call_id,
  owner_id: (leg: Leg) => leg.owner_id,
  to: (leg: Leg) => leg.sip_to,
  from: (leg: Leg) => leg.sip_from,
  direction: (leg: Leg) => leg.call_direction,
  request: (leg: Leg) => leg.sip_request,
  authorizing_id: (leg: Leg) => (leg.authorizing_id === leg.account_id ? null : leg.authorizing_id),
  cost: (leg: Leg) => String(leg.cost),
  dialed_number: dialledNumber,
  calling_from: callingFrom,
  datetime: (leg: Leg, { utcOffset }: RowView) =>
    isoText(unixStartOf(leg) + utcOffset, 0, 19)?.replace('T', ' ') ?? null,
  unix_timestamp: (leg: Leg) => String(unixStartOf(leg)),
  unix_timestamp_micro: unixMicroText,
  rfc_1036: (leg: Leg) => textsOf(unixStartOf(leg))?.http ?? null,
  iso_8601: (leg: Leg) => isoText(unixStartOf(leg), 0, 10),
  iso_8601_combined: (leg: Leg) => {
    const text = isoText(unixStartOf(leg), 0, 19)
    return text && `${text}Z`
  },
  call_type: (leg: Leg) => leg.account_billing,
  rate: (leg: Leg) => (leg.rate === null ? null : moneyText(leg.rate)),
  rate_name: (leg: Leg) => leg.rate_name,
  bridge_id: (leg: Leg) => leg.bridge_id,
  recording_url: (leg: Leg) => leg.recording_url,
  media_recordings: recordings,
  media_server: (leg: Leg) => leg.media_server,
  call_priority: (leg: Leg) => leg.call_priority,
  interaction_id: (leg: Leg) => interactionIdOf(leg),
} satisfies Record<string, (leg: Leg, view: RowView) => Value>

const resellerSheet = {
  reseller_cost: (leg: Leg) => String(leg.reseller_cost),
  reseller_call_type: (leg: Leg) => leg.reseller_billing,
} satisfies Record<string, (leg: Leg) => Value>

export type SheetColumn = keyof typeof sheet | keyof typeof resellerSheet

const wholeSheet: Record<SheetColumn, (leg: Leg, view: RowView) => Value> = { ...sheet, ...resellerSheet }

const commonColumns = Object.keys(sheet) as SheetColumn[]
const resellerColumns = [...commonColumns, ...(Object.keys(resellerSheet) as SheetColumn[])]

/** The columns that a caller sees, in order. */
export const columnsFor = (forReseller: boolean): readonly SheetColumn[] =>
  forReseller ? resellerColumns : commonColumns

export const csvHeader = (forReseller: boolean) => csvLine(columnsFor(forReseller))

/** The cells of the same line by column; null where it holds nothing. */
export const sheetRowOf = (leg: Leg, view: Omit<RowView, 'omitsEmpty'>): Json =>
  Object.fromEntries(
    columnsFor(view.forReseller).map((name) => [name, wholeSheet[name](leg, { ...view, omitsEmpty: true })]),
  )

/** The leg as a line of CSV. Exports make the same line in the store: see `sheetOf`. */
export const csvLineOf = (leg: Leg, view: RowView) =>
  csvLine(columnsFor(view.forReseller).map((name) => wholeSheet[name](leg, view)))

/**
 * The cells that can hold any text. The position of a name is its bit in `csv_quoted` and `csv_guarded`, which are
 * stored: names are only ever added at the end.
 */
export const careColumns = [
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
] as const satisfies readonly SheetColumn[]

const neutralView: RowView = { utcOffset: 0, forReseller: true, omitsEmpty: false }

/**
 * Which cells of the leg's CSV line need quotes, and which an apostrophe against being run as a formula. It is decided
 * once, when the leg is stored, so that the store can write millions of lines without looking at every character.
 */
export const cellCareOf = (leg: Leg): Pick<CdrRow, 'csv_quoted' | 'csv_guarded'> => {
  let quoted = 0
  let guarded = 0
  for (let bit = 0; bit < careColumns.length; bit += 1) {
    const value = wholeSheet[careColumns[bit] as SheetColumn](leg, neutralView)
    if (value === null) continue
    const isText = typeof value === 'string'
    const text = isText ? value : JSON.stringify(value)
    const isGuarded = isText && isFormula(text)
    if (isGuarded) guarded |= 1 << bit
    if (needsQuotes(text)) quoted |= 1 << bit
  }
  return { csv_quoted: quoted, csv_guarded: guarded }
}

const callIdOf = (cdrId: string) => cdrId.slice(7)

const interactionIdOf = ({ interaction_time: time, interaction_key: key }: Leg) => `${time}-${key}`

const isPrivate = (key: string) => key.startsWith('_') || key.startsWith('pvt_')

const withoutPrivate = (record: Json): Json =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !isPrivate(key)))

const variablesPrefix = 'custom_channel_vars.'
const fields = columns.map(({ path, sql, type }) => {
  const inVariables = path.startsWith(variablesPrefix)
  return { name: inVariables ? path.slice(variablesPrefix.length) : path, sql, type, inVariables }
})

/** The whole public document: what was stored, without what is private. */
export const documentOf = (leg: Leg): Json => {
  const { custom_channel_vars: others, ...rest } = leg.rest === null ? {} : (JSON.parse(leg.rest) as Json)
  const document: Json = { id: leg.id, call_id: callIdOf(leg.id), interaction_id: interactionIdOf(leg) }
  const variables: Json = { account_id: leg.account_id }
  for (const { name, sql, type, inVariables } of fields) {
    const value = leg[sql]
    if (value === null) continue
    const place = inVariables ? variables : document
    place[name] = type === 'json' ? JSON.parse(value as string) : value
  }
  Object.assign(variables, withoutPrivate((others as Json | undefined) ?? {}))
  return { ...document, ...withoutPrivate(rest), custom_channel_vars: variables }
}

/** What filters look at. A leg is never changed, so it was modified when it was created. */
export const filterableOf = (leg: Leg): Json => ({
  ...documentOf(leg),
  created: leg.created,
  modified: leg.created,
})

// Kilobytes that no list shows. They are in the document.
const tooLongForRows = new Set(['local_sdp', 'remote_sdp'])

const jsonValue = (name: SheetColumn, value: Value) => value ?? (name === 'media_recordings' ? [] : '')

// Most texts are such: looking costs a third of what the general case does.
const needsNoEscape = /^[ !#-[\]-~]*$/

const jsonText = (value: unknown) =>
  typeof value === 'string' && needsNoEscape.test(value) ? `"${value}"` : JSON.stringify(value)

const member = (name: string, value: unknown) => `,${jsonText(name)}:${jsonText(value)}`

/** The columns with what stands before their values. */
const sheetMembers = (names: readonly SheetColumn[]) =>
  names.map((name) => ({ name, before: `,"${name}":`, of: wholeSheet[name] }))

const membersFor = { customer: sheetMembers(commonColumns), reseller: sheetMembers(resellerColumns) }

const fieldMembers = (ofRow: typeof fields) =>
  ofRow.map((field) => ({ ...field, before: `,"${field.name}":` }))

const inRows = fieldMembers(
  fields.filter(({ name, inVariables }) => !inVariables && !Object.hasOwn(wholeSheet, name)),
)
const variableFields = fieldMembers(fields.filter(({ inVariables }) => inVariables))

const isShown = (name: string) =>
  !isPrivate(name) && !tooLongForRows.has(name) && !Object.hasOwn(wholeSheet, name)

const sheetText = (leg: Leg, view: RowView) => {
  let text = ''
  for (const { name, before, of } of view.forReseller ? membersFor.reseller : membersFor.customer) {
    const value = jsonValue(name, of(leg, view))
    if (value !== '' || !view.omitsEmpty) text += before + jsonText(value)
  }
  return text
}

const valueText = (type: (typeof fields)[number]['type'], value: string | number) =>
  type === 'json' ? value : jsonText(value)

const fieldsText = (leg: Leg, ofRow: typeof inRows) => {
  let text = ''
  for (const { sql, type, before } of ofRow) {
    const value = leg[sql]
    if (value !== null) text += before + valueText(type, value)
  }
  return text
}

const channelVars = 'custom_channel_vars'

// Where one of these begins a key or a text, it is looked at what a row would show.
const needsCare = new RegExp(`"(?:_|pvt_|(?:${[...tooLongForRows, ...Object.keys(wholeSheet)].join('|')})")`)

const membersText = (members: string) => members && `,${members}`

/** What `rest` adds to a row, and to its variables: taken over as it stands, most often. */
const restTexts = (rest: string | null) => {
  if (rest === null) return { others: '', variables: '' }
  const split = needsCare.test(rest) ? undefined : splitObject(rest, channelVars)
  if (split) return { others: membersText(split.others), variables: membersText(split.inner) }
  const { [channelVars]: vars = {}, ...others } = JSON.parse(rest) as Json
  let text = ''
  for (const name in others) if (isShown(name)) text += member(name, others[name])
  let variables = ''
  for (const [name, value] of Object.entries(vars as Json))
    if (!isPrivate(name)) variables += member(name, value)
  return { others: text, variables }
}

/**
 * The JSON text of a row: the columns, and every field of the document that has another name, for readers of either
 * description. It is put together as a text because a page is fifty of them.
 */
export const rowTextOf = (leg: Leg, view: RowView): string => {
  const { others, variables } = restTexts(leg.rest)
  const account = `"account_id":${jsonText(leg.account_id)}`
  const text = sheetText(leg, view) + fieldsText(leg, inRows) + others
  return `{${text.slice(1)},"${channelVars}":{${account}${fieldsText(leg, variableFields)}${variables}}}`
}

/** What `fields` picks from: the columns, and the whole document behind them. */
export const pickableOf = (leg: Leg, view: RowView): Json => ({
  ...documentOf(leg),
  ...(JSON.parse(rowTextOf(leg, view)) as Json),
})

const cdrIdForm = /^\d{4}(?:0[1-9]|1[0-2])-./s
const interactionIdForm = /^(\d{7,15})-(.+)$/s

export const isCdrId = (text: string) => cdrIdForm.test(text)

/** Where the interaction of this id stands; undefined when the text is no such id. */
export const interactionOf = (text: string): Place | undefined => {
  const found = interactionIdForm.exec(text)
  return found ? { time: Number(found[1]), mark: found[2] as string } : undefined
}

const channelTime = (leg: Leg) => leg.channel_created_time ?? (startOf(leg) - gregorianUnixOffset) * 1_000_000

/** The order of an interaction's legs, the earliest channel first. */
export const byChannelTime = (a: Leg, b: Leg) =>
  channelTime(a) - channelTime(b) || loopbackPlace(a) - loopbackPlace(b) || (a.id < b.id ? -1 : 1)

const loopbackPlace = ({ loopback_leg: letter }: Leg) => {
  if (letter === 'A') return 0
  return letter === 'B' ? 1 : 2
}
