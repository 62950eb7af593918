import type { Json } from '../../../src/lib/json.ts'
import { decimalsOf, dollarsText, microUnitsOfDollars } from '../../../src/lib/money.ts'
import { compilePattern } from '../../../src/lib/pattern.ts'
import { derivedId } from '../../documents/derived-id.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../../documents/document.ts'
import { integerIn, isGone, publicPart, timesOf } from '../../documents/fields.ts'
import type { Said } from '../plans/prices.ts'
import { ratedeckId } from './decks.ts'

/** Rates belong to nobody's account. */
const ofSystem = 'system'

const mainDeck = 'ratedeck'
const mostDecimals = 8
const hundredMillionth = 100n

/** Dollars as a number of at most eight decimals; undefined where there is no price. */
const priceIn = (fields: Json, key: string, say: (said: Said) => void): number | undefined => {
  for (const name of [key, `pvt_${key}`]) {
    const value = fields[name]
    if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) continue
    const text = String(value).trim()
    const decimals = decimalsOf(text)
    if (decimals === undefined) continue
    if (decimals <= mostDecimals) return Number(text)
    const rounded = Number(dollarsText(roundedToEight(text)))
    say({ severity: 'repaired', code: 'rate_rounded', field: key, old: text, new: String(rounded) })
    return rounded
  }
  return undefined
}

const roundedToEight = (text: string) => {
  const exact = microUnitsOfDollars(text)
  return ((exact + hundredMillionth / 2n) / hundredMillionth) * hundredMillionth
}

const listIn = (value: unknown): string[] => {
  const all: unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one): one is string => typeof one === 'string' && one !== '')
}

const directionsIn = (fields: Json) => [
  ...new Set(listIn(fields.direction).filter((one) => one === 'inbound' || one === 'outbound')),
]

/** What nearly every rate has, of millions: it need not be tried. */
const usualRoute = /^\^\\\+\?\d{1,15}\.\+\$$/

const routesIn = (fields: Json, say: (said: Said) => void) =>
  listIn(fields.routes).filter((route, index) => {
    const { problem } = usualRoute.test(route) ? {} : compilePattern(route)
    if (problem)
      say({ severity: 'repaired', code: 'route_unreadable', field: `routes.${index}`, old: route, new: '' })
    return !problem
  })

const optionsIn = ({ options }: Json) =>
  typeof options === 'string' ? options.split(',').filter(Boolean) : listIn(options)

const prefixIn = ({ prefix }: Json) => {
  const text = typeof prefix === 'number' || typeof prefix === 'string' ? String(prefix).trim() : ''
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

const wholes = ['rate_increment', 'rate_minimum', 'rate_nocharge_time', 'weight'] as const

const wholesIn = (fields: Json) =>
  Object.fromEntries(
    wholes.flatMap((key) => {
      const value = integerIn(fields, key)
      return value === undefined ? [] : [[key, value]]
    }),
  )

/** One document stands in several decks, and has the same id in each: here rates of all decks lie together. */
const idOf = ({ id, database }: KazooDocument) =>
  database === mainDeck && /^(?!ratedecks$)[A-Za-z0-9_-]{1,64}$/.test(id)
    ? id
    : derivedId(database, id, 'rate')

const present = (lists: Record<string, readonly string[]>) =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))

const rejected = (document: KazooDocument, field: string): Converted => {
  const { database, id, fields } = document
  const value = fields[field]
  const old = typeof value === 'string' || typeof value === 'number' ? { old: String(value) } : {}
  const finding: Finding = { severity: 'left_out', code: 'rate_unreadable', database, id, field, ...old }
  return { document, outcome: 'rejected', drafts: [], findings: [finding] }
}

const readOtherwise = [
  'id',
  'prefix',
  'rate_cost',
  'rate_surcharge',
  'internal_rate_cost',
  'direction',
  'routes',
  'options',
  'ratedeck_id',
  ...wholes,
]

/** What becomes of a price of calls. The database says which deck it is in, whatever the document says. */
export const convertRate = (document: KazooDocument): Converted => {
  const { database, id, fields } = document
  if (isGone(fields)) return { document, outcome: 'skipped', drafts: [], findings: [] }
  const findings: Finding[] = []
  const say = (said: Said) => void findings.push({ database, id, ...said })
  const prefix = prefixIn(fields)
  const cost = priceIn(fields, 'rate_cost', say)
  if (prefix === undefined) return rejected(document, 'prefix')
  if (cost === undefined) return rejected(document, 'rate_cost')
  const [surcharge, internal] = [
    priceIn(fields, 'rate_surcharge', say),
    priceIn(fields, 'internal_rate_cost', say),
  ]
  const draft: Draft = {
    as: 'rate',
    accountId: ofSystem,
    id: idOf(document),
    ...timesOf(fields),
    doc: {
      ...publicPart(fields, readOtherwise),
      prefix,
      rate_cost: cost,
      ...(surcharge === undefined ? {} : { rate_surcharge: surcharge }),
      ...(internal === undefined ? {} : { internal_rate_cost: internal }),
      ...wholesIn(fields),
      ...present({
        direction: directionsIn(fields),
        routes: routesIn(fields, say),
        options: optionsIn(fields),
      }),
      ratedeck_id: ratedeckId(database),
    },
    facts: {},
    files: [],
  }
  return { document, outcome: 'imported', drafts: [draft], findings }
}
