import type { Problems } from '../../../lib/failure.ts'
import { sameJson } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { decimalsOf, type MicroUnits, microUnitsOfDollars, unitsText } from '../../../lib/money.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import type { SettingsOf } from '../../../settings/keys.ts'
import { baseCostDollars } from './pricing.rules.ts'
import { type NumberRate, Rate } from './schema.ts'
import type { rateSettings } from './settings.ts'

export interface RateQuery {
  /** E.164 with its plus. */
  number: string
  direction?: string | undefined
  options?: readonly string[]
  callerIdNumber?: string | undefined
  /** The reseller of the caller. */
  resellerId?: string | undefined
}

type RateManner = Pick<SettingsOf<typeof rateSettings>, 'filter_list' | 'sort_by_weight' | 'rate_version'>
type RateFilter = RateManner['filter_list'][number]

export interface RateCandidate {
  id: string
  doc: Rate
}

const longestPrefix = 15
const maxDecimals = 8
const dollarFields = ['rate_cost', 'rate_surcharge', 'internal_rate_cost'] as const
const centsPerDollar = 100
const heaviest = 100

export const digitsOf = (text: string) => text.replace(/\D/g, '')

/** Every leading part of a number's digits, the shortest first. */
export const leadingParts = (digits: string): string[] =>
  Array.from({ length: Math.min(digits.length, longestPrefix) }, (_, index) => digits.slice(0, index + 1))

export const isRateable = (number: string) => /^\+(?:1\d{10}|[2-9]\d{7,14})$/.test(number)

const defaultRoute = (prefix: number) => `^\\+?${prefix}.+$`

type Judge = (rate: Rate, question: RateQuery, manner: RateManner) => boolean

const routeFits = (prefix: number, number: string) => (route: string) => {
  if (route === defaultRoute(prefix)) return number.length > String(prefix).length + 1
  return compilePattern(route).pattern?.matches(number) ?? false
}

const callerFits = (prefixes: string, caller: string | undefined) => {
  const wanted = prefixes.split(':').map(digitsOf).filter(Boolean)
  if (wanted.length === 0) return true
  return caller !== undefined && wanted.some((prefix) => digitsOf(caller).startsWith(prefix))
}

const judges: Readonly<Record<RateFilter, Judge>> = {
  direction: ({ direction = [] }, { direction: wanted }) =>
    direction.length === 0 || wanted === undefined || direction.some((one) => one === wanted),
  route_options: ({ options = [] }, { options: wanted = [] }) => wanted.every((one) => options.includes(one)),
  routes: ({ routes = [], prefix }, { number }) =>
    routes.length === 0 || routes.some(routeFits(prefix, number)),
  caller_id_numbers: ({ caller_id_numbers: prefixes = '' }, { callerIdNumber }) =>
    callerFits(prefixes, callerIdNumber),
  reseller: ({ account_id: reseller }, { resellerId }) => !reseller || reseller === resellerId,
  version: ({ rate_version: version }, _question, { rate_version: wanted }) => !wanted || version === wanted,
}

const rateWeight = ({ weight = heaviest }: Rate) => weight
const rateCost = (rate: Rate): MicroUnits => microUnitsOfDollars(rate.rate_cost)
const sign = (difference: bigint) => Number(difference > 0n) - Number(difference < 0n)

/** The better rate first. The id makes the order stable. */
const compare =
  ({ sort_by_weight: byWeight }: RateManner) =>
  (a: RateCandidate, b: RateCandidate): number => {
    const byCost = sign(rateCost(a.doc) - rateCost(b.doc))
    return (
      b.doc.prefix - a.doc.prefix ||
      (byWeight
        ? rateWeight(a.doc) - rateWeight(b.doc) || byCost
        : -byCost || rateWeight(a.doc) - rateWeight(b.doc)) ||
      (a.id < b.id ? -1 : 1)
    )
  }

/** The best of the rates whose prefix matches: the longest prefix, then the lowest weight. */
export const chooseRate = <T extends RateCandidate>(
  candidates: readonly T[],
  question: RateQuery,
  manner: RateManner,
): T | undefined =>
  candidates
    .filter(({ doc }) => manner.filter_list.every((filter) => judges[filter](doc, question, manner)))
    .toSorted(compare(manner))[0]

export const numberRate = (number: string, ratedeckId: string, { id, doc }: RateCandidate): NumberRate => {
  const rate = unitsText(rateCost(doc))
  const surcharge = unitsText(microUnitsOfDollars(doc.rate_surcharge ?? 0))
  const { rate_minimum: minimum = 60, rate_increment: increment = 60, description, rate_name: name } = doc
  return {
    'Base-Cost': baseCostDollars({ rateUnitsPerMinute: rate, minimum, surcharge }),
    'E164-Number': number,
    Prefix: String(doc.prefix),
    Rate: rate,
    ...(description === undefined ? {} : { 'Rate-Description': description }),
    'Rate-ID': id,
    'Rate-Increment': String(increment),
    'Rate-Minimum': String(minimum),
    ...(name === undefined ? {} : { 'Rate-Name': name }),
    'Ratedeck-ID': ratedeckId,
    Surcharge: surcharge,
  }
}

/** Whether a price has at most eight decimals. */
const isExactPrice = (value: number | string) =>
  (decimalsOf(value) ?? Number.POSITIVE_INFINITY) <= maxDecimals

const priceProblems = (rate: Partial<Rate>): Problems => {
  const inexact = dollarFields.filter((field) => rate[field] !== undefined && !isExactPrice(rate[field]))
  const problem = {
    precision: { message: `A price has at most ${maxDecimals} decimals`, target: maxDecimals },
  }
  return Object.fromEntries(inexact.map((field) => [field, problem]))
}

const routeProblems = ({ routes = [] }: Partial<Rate>): Problems => {
  const found = routes.flatMap((route, index) => {
    const { problem } = compilePattern(route)
    return problem
      ? [[`routes.${index}`, { pattern: { message: `The pattern ${problem}`, value: route } }]]
      : []
  })
  return Object.fromEntries(found)
}

export const rateProblems = (rate: Partial<Rate>): Problems => ({
  ...priceProblems(rate),
  ...routeProblems(rate),
})

/** Generates the route from the prefix, unless there are others. A generated one follows a changed prefix. */
export const withRoutes = (rate: Rate, before?: Rate): Rate => {
  const { routes = [] } = rate
  const wereMade = before !== undefined && routes.length === 1 && routes[0] === defaultRoute(before.prefix)
  return routes.length > 0 && !wereMade ? rate : { ...rate, routes: [defaultRoute(rate.prefix)] }
}

/** 10 for each digit of the prefix, less the whole cents of the carrier's or else the customer's price. */
export const generatedWeight = (rate: Pick<Rate, 'prefix' | 'rate_cost' | 'internal_rate_cost'>): number => {
  const dollar = microUnitsOfDollars(1)
  const cents = Number(
    (microUnitsOfDollars(rate.internal_rate_cost ?? rate.rate_cost) * BigInt(centsPerDollar)) / dollar,
  )
  return Math.min(heaviest, Math.max(1, 10 * String(rate.prefix).length - cents))
}

export const generatedName = ({ direction = [], iso_country_code: country, prefix }: Rate): string =>
  [...direction, country || 'XX', prefix].join('_')

/** A CSV row by column name; empty cells are absent or empty. */
type RateCells = Readonly<Record<string, string | undefined>>

/** The rules of a field that its cells follow. */
interface FieldRules {
  type?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
}

const rateFields: Readonly<Record<string, FieldRules>> = Rate.properties

const isNumeric = ({ type }: FieldRules) => type === 'integer' || type === 'number'

const digitsOnly = /^\d{1,15}$/
const decimal = /^\d{0,7}(?:\.\d+)?$/

const numberVerifier =
  ({ type, minimum = 0, maximum = 0 }: FieldRules) =>
  (cell: string) => {
    const isWritten =
      type === 'integer' ? digitsOnly.test(cell) : decimal.test(cell) && /\d/.test(cell) && isExactPrice(cell)
    return isWritten && Number(cell) >= minimum && Number(cell) <= maximum
  }

const textVerifier = ({ maxLength = 0, pattern = '' }: FieldRules) => {
  const form = new RegExp(pattern)
  return (cell: string) => cell.length <= maxLength && form.test(cell)
}

/** A JSON list, or one text. */
const cellTexts = (cell: string): unknown[] => {
  if (!cell.startsWith('[')) return [cell]
  try {
    const value: unknown = JSON.parse(cell)
    return Array.isArray(value) ? value : [cell]
  } catch {
    return [cell]
  }
}

const routesIn = (cell: string) => cellTexts(cell).map(String)
const optionsIn = (cell: string) =>
  cellTexts(cell).flatMap((one) => (cell.startsWith('[') ? String(one) : String(one).split(',')))

export const cellVerifiers: Readonly<Record<string, (cell: string) => boolean>> = {
  ...Object.fromEntries(
    Object.entries(rateFields).map(([column, field]) => [
      column,
      isNumeric(field) ? numberVerifier(field) : textVerifier(field),
    ]),
  ),
  direction: (cell) => cell === 'inbound' || cell === 'outbound',
  routes: (cell) => {
    const routes = routesIn(cell)
    return routes.length > 0 && routes.length <= 100 && routes.every((one) => !compilePattern(one).problem)
  },
  options: (cell) => optionsIn(cell).length <= 100 && optionsIn(cell).every((one) => one.length <= 128),
  account_id: (cell) => /^[0-9a-f]{32}$/.test(cell),
}

const lists: Readonly<Record<string, (cell: string) => string[]>> = {
  direction: (cell) => [cell],
  routes: routesIn,
  options: optionsIn,
}

const valueIn = (column: string, cell: string) =>
  isNumeric(rateFields[column] ?? {}) ? Number(cell) : (lists[column]?.(cell) ?? cell)

/** The fields of a row whose cells are valid. */
export const fieldsIn = (cells: RateCells): Partial<Rate> => {
  const given = Object.entries(cells).flatMap(([column, cell]) =>
    cell && column in cellVerifiers ? [[column, valueIn(column, cell)]] : [],
  )
  return Object.fromEntries(given)
}

/** A row with all mandatory cells. */
export type RateFields = Partial<Rate> & Pick<Rate, 'prefix' | 'rate_cost'>

/** Rates with the same identity differ only in their price. */
export const rateIdentity = (rate: RateFields): string => {
  const { ratedeck_id: deck, prefix, direction = [], options = [] } = rate
  const { iso_country_code: country, carrier, account_id: reseller, caller_id_numbers: callers } = rate
  const { routes, rate_name: name = generatedName(rate) } = withRoutes(rate)
  const parts = [
    deck,
    prefix,
    direction.toSorted(),
    country,
    name,
    carrier,
    reseller,
    callers,
    options,
    routes,
  ]
  return JSON.stringify(parts.map((part) => part ?? null))
}

const defaults = { rate_increment: 60, rate_minimum: 60, rate_surcharge: 0, rate_nocharge_time: 0 }

export const newRate = (fields: RateFields): Rate => {
  const rate = withRoutes({ ...defaults, ...fields })
  return {
    ...rate,
    rate_name: rate.rate_name ?? generatedName(rate),
    weight: rate.weight ?? generatedWeight(rate),
  }
}

/** A rate with the changes of a row. A generated weight follows the price. */
export const mergedRate = (before: Rate, fields: RateFields): Rate => {
  const rate = { ...before, ...fields }
  const wasGenerated = before.weight === undefined || before.weight === generatedWeight(before)
  return fields.weight === undefined && wasGenerated ? { ...rate, weight: generatedWeight(rate) } : rate
}

export const hasFields = (rate: Rate, fields: Partial<Rate>): boolean =>
  Object.entries(fields).every(([key, value]) => sameJson(memberOf(rate, key), value))

const cellFrom = (value: unknown) => (Array.isArray(value) ? JSON.stringify(value) : value)

/** A row that the import accepts. Both directions are the same as none. */
export const rateCsvRow = ({ direction = [], ...rate }: Rate): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(rate).map(([key, value]) => [key, cellFrom(value)])),
  ...(direction.length === 1 ? { direction: direction[0] } : {}),
})
