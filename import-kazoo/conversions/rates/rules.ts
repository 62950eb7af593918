import { type Json, present } from '../../../src/lib/json.ts'
import { decimalsOf, dollarsText, microUnitsOfDollars } from '../../../src/lib/money.ts'
import { compilePattern } from '../../../src/lib/pattern.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { derivedId, isGone, publicPart, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { converted, imported, type Notes, notesOf, unconverted } from '../findings.ts'
import { fieldOf, integer, readFields } from '../tables.ts'

/** Rates belong to no account. */
const ofSystem = 'system'

const mainDeck = 'ratedeck'
const maxRateDecimals = 8
const hundredMillionth = 100n

const roundedToEight = (price: string) => {
  const exact = microUnitsOfDollars(price)
  return ((exact + hundredMillionth / 2n) / hundredMillionth) * hundredMillionth
}

/** Dollars as a number of at most eight decimals. */
const priceIn = (fields: Json, key: string, { repaired }: Notes): number | undefined => {
  const value = fields[key]
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return undefined
  const price = String(value).trim()
  const decimals = decimalsOf(price)
  if (decimals === undefined || decimals <= maxRateDecimals)
    return decimals === undefined ? undefined : Number(price)
  const rounded = Number(dollarsText(roundedToEight(price)))
  repaired('rate_rounded', { field: key.replace(/^pvt_/, ''), old: price, new: String(rounded) })
  return rounded
}

const price = fieldOf(priceIn)

const textsIn = (value: unknown): string[] => {
  const all: unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one): one is string => typeof one === 'string' && one !== '')
}

/** A list of texts, or one of them; of an empty list the record has nothing. */
const list = (read: (fields: Json, key: string, notes: Notes) => readonly string[]) =>
  fieldOf((fields, key, notes) => {
    const found = read(fields, key, notes)
    return found.length > 0 ? found : undefined
  })

const directionsIn = ({ direction }: Json) => [
  ...new Set(textsIn(direction).filter((one) => one === 'inbound' || one === 'outbound')),
]

/** What nearly every rate has, of millions: it need not be tried. */
const usualRoute = /^\^\\\+\?\d{1,15}\.\+\$$/

const routesIn = ({ routes }: Json, _: string, { repaired }: Notes) =>
  textsIn(routes).filter((route, index) => {
    const { problem } = usualRoute.test(route) ? {} : compilePattern(route)
    if (problem) repaired('route_unreadable', { field: `routes.${index}`, old: route, new: '' })
    return !problem
  })

const optionsIn = ({ options }: Json) =>
  typeof options === 'string' ? options.split(',').filter(Boolean) : textsIn(options)

const prefixIn = ({ prefix }: Json) => {
  const digits = typeof prefix === 'number' || typeof prefix === 'string' ? String(prefix).trim() : ''
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}

const rateFields = [
  fieldOf(prefixIn)('prefix'),
  price('rate_cost', 'rate_cost', 'pvt_rate_cost'),
  price('rate_surcharge', 'rate_surcharge', 'pvt_rate_surcharge'),
  price('internal_rate_cost', 'internal_rate_cost', 'pvt_internal_rate_cost'),
  integer('rate_increment'),
  integer('rate_minimum'),
  integer('rate_nocharge_time'),
  integer('weight'),
  list(directionsIn)('direction'),
  list(routesIn)('routes'),
  list(optionsIn)('options'),
]

const readOtherwise = ['id', 'ratedeck_id', ...rateFields.map(({ here }) => here)]

/** One document stands in several decks, and has the same id in each: here rates of all decks lie together. */
const idOf = ({ id, database }: KazooDocument) =>
  database === mainDeck && /^(?!ratedecks$)[A-Za-z0-9_-]{1,64}$/.test(id)
    ? id
    : derivedId(database, id, 'rate')

const rejected = (document: KazooDocument, field: string): Converted => {
  const value = document.fields[field]
  const old = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  return unconverted(document, 'rejected', 'left_out', 'rate_unreadable', { field, old })
}

/** What becomes of a price of calls. The database says which deck it is in, whatever the document says. */
export const convertRate = (document: KazooDocument): Converted => {
  const { database, fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const notes = notesOf(document)
  const values = readFields(rateFields, fields, notes)
  const missing = ['prefix', 'rate_cost'].find((key) => values[key] === undefined)
  if (missing !== undefined) return rejected(document, missing)
  return imported(document, 'rate', ofSystem, {
    id: idOf(document),
    doc: { ...publicPart(fields, readOtherwise), ...values, ratedeck_id: ratedeckId(database) },
    findings: notes.findings,
  })
}

/** The document of a price of calls, in the database of its deck. */
export const exportRate = (record: OwnRecord, masterId: string): LeavingDocument[] => {
  const deck = textIn(record.doc, 'ratedeck_id') ?? mainDeck
  const database = deck === mainDeck ? mainDeck : `${mainDeck}/${deck}`
  return [exported('rate', record, { database, accountId: masterId })]
}

const isDeckId = (id: string) => /^[A-Za-z0-9_.-]{1,64}$/.test(id)

/** The name of a deck as it can be written here; `ratedeck/gold` is the database of the deck `gold`. */
const ratedeckId = (id: string) => {
  const behind = id.startsWith('ratedeck/') ? id.slice('ratedeck/'.length) : id
  return isDeckId(behind) ? behind : derivedId('ratedeck', behind, 'deck')
}

/** A deck that services or plans name; undefined when they name none. */
export const ratedeckNamed = (ratedeck: unknown, { repaired }: Notes): Json | undefined => {
  const [said, name] = [textIn(ratedeck, 'id'), textIn(ratedeck, 'name')]
  if (said === undefined) return name === undefined ? undefined : { name }
  const id = ratedeckId(said.replaceAll(/%2f/gi, '/'))
  if (id !== said) repaired('ratedeck_renamed', { field: 'ratedeck.id', old: said, new: id })
  return present({ id, name })
}
