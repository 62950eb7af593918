import { isObject, type Json, present } from '../../src/lib/json.ts'
import {
  decimalsOf,
  dollarsOfUnits,
  dollarsText,
  microUnitsOfDollars,
  unitsOfDollars,
} from '../../src/lib/money.ts'
import { compilePattern } from '../../src/lib/pattern.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { derivedId, isFilled, isGone, listIn, publicPart, textIn, textsIn } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, type Notes, nameFrom, notesOf, unconverted } from './findings.ts'
import { fieldOf, integer, objectIn, readFields } from './tables.ts'

/** Rates belong to no account. */
const ofSystem = 'system'

const mainDeck = 'ratedeck'
const maxRateDecimals = 8
const hundredMillionth = 100n

const roundedToEight = (price: string) =>
  ((microUnitsOfDollars(price) + hundredMillionth / 2n) / hundredMillionth) * hundredMillionth

/** Dollars with at most eight decimals. */
const priceIn = (fields: Json, key: string, { repaired }: Notes): number | undefined => {
  const value = fields[key]
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const price = String(value).trim()
  const decimals = price === '' ? undefined : decimalsOf(price)
  if (decimals === undefined) return undefined
  if (decimals <= maxRateDecimals) return Number(price)
  const rounded = Number(dollarsText(roundedToEight(price)))
  repaired('rate_rounded', { field: key.replace(/^pvt_/, ''), old: price, new: String(rounded) })
  return rounded
}

const price = fieldOf(priceIn)

const list = (read: (fields: Json, key: string, notes: Notes) => readonly string[]) =>
  fieldOf((fields, key, notes) => {
    const found = read(fields, key, notes)
    return found.length > 0 ? found : undefined
  })

const directionsIn = ({ direction }: Json) =>
  [...new Set(textsIn(direction))].filter((one) => one === 'inbound' || one === 'outbound')

/** Nearly all routes look like this and need no trial compilation. */
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

/** Decks share ids; here the rates of all decks are stored together. */
const idOf = ({ id, database }: KazooDocument) =>
  database === mainDeck && /^(?!ratedecks$)[A-Za-z0-9_-]{1,64}$/.test(id)
    ? id
    : derivedId(database, id, 'rate')

/** The database determines the deck. */
export const convertRate = (document: KazooDocument): Converted => {
  const { database, fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const notes = notesOf(document)
  const values = readFields(rateFields, fields, notes)
  const missing = ['prefix', 'rate_cost'].find((key) => values[key] === undefined)
  if (missing !== undefined) {
    const value = fields[missing]
    const old = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
    return unconverted(document, 'rejected', 'left_out', 'rate_unreadable', { field: missing, old })
  }
  return notes.imported('rate', ofSystem, {
    id: idOf(document),
    doc: { ...publicPart(fields, readOtherwise), ...values, ratedeck_id: ratedeckId(database) },
  })
}

export const exportRate = (record: OwnRecord, masterId: string): ExportedDocument[] => {
  const deck = textIn(record.doc, 'ratedeck_id') ?? mainDeck
  const database = deck === mainDeck ? mainDeck : `${mainDeck}/${deck}`
  return [exported('rate', record, { database, accountId: masterId })]
}

const isDeckId = (id: string) => /^[A-Za-z0-9_.-]{1,64}$/.test(id)

/** `ratedeck/gold` is the database of the deck `gold`. */
const ratedeckId = (id: string) => {
  const behind = id.startsWith('ratedeck/') ? id.slice('ratedeck/'.length) : id
  return isDeckId(behind) ? behind : derivedId('ratedeck', behind, 'deck')
}

export const ratedeckNamed = (ratedeck: unknown, { repaired }: Notes): Json | undefined => {
  const [said, name] = [textIn(ratedeck, 'id'), textIn(ratedeck, 'name')]
  if (said === undefined) return name === undefined ? undefined : { name }
  const id = ratedeckId(said.replaceAll(/%2f/gi, '/'))
  if (id !== said) repaired('ratedeck_renamed', { field: 'ratedeck.id', old: said, new: id })
  return present({ id, name })
}

/** Members of older plans that are not items. */
export const notItems: ReadonlySet<string> = new Set(['ui_apps', 'ratedeck', 'ratedeck_name'])

// Kazoo's prices are floats; here they have four decimals.
const moneyKeys: ReadonlySet<string> = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys: ReadonlySet<string> = new Set(['rates', 'flat_rates'])
const maxPriceDecimals = 4

const roundedPrice = (price: unknown, field: string, { repaired }: Notes): unknown => {
  if (typeof price !== 'number' && typeof price !== 'string') return price
  if ((decimalsOf(price) ?? 0) <= maxPriceDecimals) return price
  const rounded = dollarsOfUnits(unitsOfDollars(price))
  repaired('price_rounded', { field, old: String(price), new: String(rounded) })
  return rounded
}

const isPriceAt = (path: readonly string[]) =>
  moneyKeys.has(path.at(-1) ?? '') || tierKeys.has(path.at(-2) ?? '')

const roundedIn = (value: unknown, path: readonly string[], notes: Notes): unknown => {
  if (Array.isArray(value)) return value.map((one, index) => roundedIn(one, [...path, String(index)], notes))
  if (!isObject(value)) return isPriceAt(path) ? roundedPrice(value, path.join('.'), notes) : value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      const place = [...path, key]
      if (key !== 'markup_type') return [[key, roundedIn(member, place, notes)]]
      notes.leftOut('markup_left_out', { field: place.join('.'), old: String(member) })
      return []
    }),
  )
}

const itemsOf = (plan: Json, notes: Notes, prefix: string): Json =>
  Object.fromEntries(
    Object.entries(plan).flatMap(([category, item]) => {
      const field = `${prefix}plan.${category}`
      if (notItems.has(category)) notes.repaired('plan_item_moved', { field })
      else if (!isObject(item)) notes.leftOut('plan_item_invalid', { field })
      else return [[category, roundedIn(item, ['plan', category], notes)]]
      return []
    }),
  )

/** `_all` is not an application. */
const applicationsIn = (apps: unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(apps) ? apps : {}).flatMap(([id, app]) => {
      if (id === '_all' || !isObject(app)) return []
      const vendor = textIn(app, 'vendor_id') ?? textIn(app, 'account_id')
      const enabled = typeof app.enabled === 'boolean' ? app.enabled : undefined
      return [[id, present({ name: textIn(app, 'name'), vendor_id: vendor, enabled })]]
    }),
  )

const firstKeyOf = (value: unknown) => (isObject(value) ? Object.keys(value)[0] : undefined)

/** The first keys are the deck's id and name. */
export const deckAmongItems = ({ ratedeck, ratedeck_name: name }: Json): Json =>
  present({ id: firstKeyOf(ratedeck), name: firstKeyOf(name) })

/** Bookkeepers that charge must be set up and chosen again. */
export const bookkeeperIn = (fields: Json, field: string, { needsHand }: Notes): Json => {
  const bookkeeper = objectIn(fields, 'bookkeeper') ?? {}
  const [id, type = 'default'] = [textIn(bookkeeper, 'id'), textIn(bookkeeper, 'type')]
  if (type !== 'default') needsHand('bookkeeper_unknown', { field, old: type, new: 'default' })
  return id === undefined || type !== 'default' ? {} : { bookkeeper: { id, type } }
}

/** Converts a plan, or overrides of plans. */
export const planPart = (fields: Json, notes: Notes, prefix = ''): Json => {
  const { plan, bookkeeper: _, bookkeepers, applications: _apps, ratedeck: _deck, ...rest } = fields
  const items = isObject(plan) ? plan : {}
  const apps = { ...applicationsIn(items.ui_apps), ...objectIn(fields, 'applications') }
  const deck = ratedeckNamed({ ...deckAmongItems(items), ...objectIn(fields, 'ratedeck') }, notes)
  if (bookkeepers !== undefined) notes.needsHand('bookkeepers_left_out', { field: `${prefix}bookkeepers` })
  return {
    ...rest,
    ...(isObject(plan) ? { plan: itemsOf(items, notes, prefix) } : {}),
    ...(isFilled(apps) ? { applications: apps } : {}),
    ...present({ ratedeck: deck }),
    ...bookkeeperIn(fields, `${prefix}bookkeeper`, notes),
  }
}

export const convertPlan = (document: KazooDocument, accountId: string): Converted => {
  const { fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const notes = notesOf(document)
  if (listIn(fields.manual_recurring).length > 0)
    notes.needsHand('manual_recurring_not_billed', { field: 'manual_recurring' })
  const part = planPart(publicPart(fields, ['id']), notes)
  const old = textIn(fields, 'name')
  const detailsOf = (name: string) => ({ field: 'name', old, new: old === undefined ? document.id : name })
  const name = nameFrom(old, document.id, notes, detailsOf)
  return notes.imported('service_plan', accountId, { doc: { plan: {}, ...part, name } })
}
