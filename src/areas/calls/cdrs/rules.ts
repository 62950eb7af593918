import { csvLine, needsApostrophe, needsQuotes } from '../../../lib/csv.ts'
import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { isPrivateKey } from '../../../lib/json-merge.ts'
import {
  type CdrRow,
  callIdOf,
  fieldColumns,
  interactionIdOf,
  isPricedForReseller,
  legStartOf,
  tellsCost,
  tellsPrice,
} from './columns.ts'
import type { CdrPlace } from './places.rules.ts'
import {
  type CellValue,
  careMaskOf,
  columnsFor,
  type Leg,
  type RowView,
  type SheetColumn,
  sheetFor,
} from './sheet/columns.ts'

// The three forms of a leg: document, row of a list, CSV line.

export const csvHeader = (forReseller: boolean) => csvLine(columnsFor(forReseller))

/** The cells by column; null if empty. */
export const sheetRowOf = (leg: Leg, view: Omit<RowView, 'omitsEmpty'>): Json =>
  Object.fromEntries(
    sheetFor(view.forReseller).map(({ name, of }) => [name, of(leg, { ...view, omitsEmpty: true })]),
  )

/** The store writes the same line: see `sheetOf`. */
export const csvLineOf = (leg: Leg, view: RowView) =>
  csvLine(sheetFor(view.forReseller).map(({ of }) => of(leg, view)))

const neutralView: RowView = { utcOffset: 0, forReseller: true, omitsEmpty: false }

const caredCells = sheetFor(true)
  .map((cell) => ({ of: cell.of, mask: careMaskOf(cell) }))
  .filter(({ mask }) => mask !== 0)

/**
 * Which cells of the CSV line need quotes, and which an apostrophe against formulas. Computed when a leg is stored, so
 * that exports need not scan the texts.
 */
export const cellCareOf = (leg: Leg): Pick<CdrRow, 'csv_quoted' | 'csv_guarded'> => {
  let quoted = 0
  let guarded = 0
  for (const { of, mask } of caredCells) {
    const value = of(leg, neutralView)
    if (value === null) continue
    const isText = typeof value === 'string'
    const text = isText ? value : JSON.stringify(value)
    if (isText && needsApostrophe(text)) guarded |= mask
    if (needsQuotes(text)) quoted |= mask
  }
  return { csv_quoted: quoted, csv_guarded: guarded }
}

const copyPublic = (from: Json, to: Json) => {
  for (const key in from) if (!isPrivateKey(key)) to[key] = from[key]
}

const holdersOfCosts = ['custom_channel_vars', 'custom_application_vars']

const only = (isVisible: (key: string) => boolean, record: Json): Json =>
  Object.fromEntries(Object.entries(record).filter(([key]) => isVisible(key)))

/** The document as the account, and those below its reseller, see it. */
const customersDocument = (hidesPrice: boolean, document: Json): Json => {
  const isVisible = (key: string) => !tellsCost(key) && !(hidesPrice && tellsPrice(key))
  const shown = only(isVisible, document)
  for (const name of holdersOfCosts) {
    const held = shown[name]
    if (isObject(held)) shown[name] = only(isVisible, held)
  }
  return shown
}

type Rest = Json & { custom_channel_vars?: Json }

/** The document without private fields. */
export const documentOf = (leg: Leg): Json => {
  const { custom_channel_vars: others, ...rest }: Rest = leg.rest === null ? {} : JSON.parse(leg.rest)
  const document: Json = { id: leg.id, call_id: callIdOf(leg.id), interaction_id: interactionIdOf(leg) }
  const variables: Json = { account_id: leg.account_id }
  for (const { name, sql, type, inVariables } of fieldColumns) {
    const value = leg[sql]
    if (value === null) continue
    const place = inVariables ? variables : document
    place[name] = type === 'json' ? JSON.parse(String(value)) : value
  }
  copyPublic(rest, document)
  copyPublic(others ?? {}, variables)
  document.custom_channel_vars = variables
  return document
}

export const shownDocumentOf = (leg: Leg, { forReseller }: Pick<RowView, 'forReseller'>): Json =>
  forReseller ? documentOf(leg) : customersDocument(isPricedForReseller(leg), documentOf(leg))

/** The document for filters. A leg counts as modified when it was created. */
export const filterableOf = (leg: Leg, view: Pick<RowView, 'forReseller'>): Json => ({
  ...shownDocumentOf(leg, view),
  created: leg.created,
  modified: leg.created,
})

const jsonValue = (name: SheetColumn, value: CellValue) => value ?? (name === 'media_recordings' ? [] : '')

const shownByName: ReadonlySet<string> = new Set(columnsFor(true))

/** A row of a list: the columns, then the fields of the document with other names. */
const listRowOf = (leg: Leg, view: RowView): Json => {
  const row: Json = {}
  for (const { name, of } of sheetFor(view.forReseller)) {
    const value = jsonValue(name, of(leg, view))
    if (value !== '' || !view.omitsEmpty) row[name] = value
  }
  const document = shownDocumentOf(leg, view)
  for (const name in document) if (!shownByName.has(name)) row[name] = document[name]
  return row
}

export const rowTextOf = (leg: Leg, view: RowView) => JSON.stringify(listRowOf(leg, view))

export const pickableOf = (leg: Leg, view: RowView): Json => ({
  ...shownDocumentOf(leg, view),
  ...listRowOf(leg, view),
})

const cdrIdForm = /^\d{4}(?:0[1-9]|1[0-2])-./s
const interactionIdForm = /^(\d{7,15})-(.+)$/s

export const isCdrId = (text: string) => cdrIdForm.test(text)

/** Undefined if the text is not an interaction id. */
export const interactionOf = (text: string): CdrPlace | undefined => {
  const found = interactionIdForm.exec(text)
  return found ? { time: Number(found[1]), mark: found[2] ?? '' } : undefined
}

type OrderedLeg = Pick<Leg, 'id' | 'created' | 'duration_seconds' | 'channel_created_time' | 'loopback_leg'>

const channelTime = (leg: OrderedLeg) =>
  leg.channel_created_time ?? (legStartOf(leg) - gregorianUnixOffset) * 1_000_000

/** The earliest channel first. */
export const byChannelTime = (a: OrderedLeg, b: OrderedLeg) =>
  channelTime(a) - channelTime(b) || loopbackPlace(a) - loopbackPlace(b) || (a.id < b.id ? -1 : 1)

const loopbackPlace = ({ loopback_leg: letter }: OrderedLeg) => {
  if (letter === 'A') return 0
  return letter === 'B' ? 1 : 2
}
