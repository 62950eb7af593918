import type { Problems } from '../../../lib/failure.ts'
import { decimalsOf, type MicroUnits, microUnitsOfDollars, unitsText } from '../../../lib/money.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import type { SettingsOf } from '../../../settings/keys.ts'
import { baseCostDollars } from './pricing.rules.ts'
import type { NumberRate, Rate } from './schema.ts'
import type { rateSettings } from './settings.ts'

/** What a look-up wants to know. */
export interface RateQuery {
  /** E.164 with its plus. */
  number: string
  direction?: string | undefined
  options?: readonly string[]
  callerIdNumber?: string | undefined
  /** Whose customer calls. */
  resellerId?: string | undefined
}

/** How the operator has rates chosen. */
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

/** Digits of a text: a number without its plus and whatever else stands in it. */
export const digitsOf = (text: string) => text.replace(/\D/g, '')

/** Every leading part of a number's digits, the shortest first. */
export const leadingParts = (digits: string): string[] =>
  Array.from({ length: Math.min(digits.length, longestPrefix) }, (_, index) => digits.slice(0, index + 1))

/** Whether a price can be asked for at all. */
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

const weightOf = ({ weight = heaviest }: Rate) => weight
const costOf = (rate: Rate): MicroUnits => microUnitsOfDollars(rate.rate_cost)
const sign = (difference: bigint) => Number(difference > 0n) - Number(difference < 0n)

/** The better rate first. Equal ones stay in one order whatever order they are read in. */
const compare =
  ({ sort_by_weight: byWeight }: RateManner) =>
  (a: RateCandidate, b: RateCandidate): number => {
    const byCost = sign(costOf(a.doc) - costOf(b.doc))
    return (
      b.doc.prefix - a.doc.prefix ||
      (byWeight
        ? weightOf(a.doc) - weightOf(b.doc) || byCost
        : -byCost || weightOf(a.doc) - weightOf(b.doc)) ||
      (a.id < b.id ? -1 : 1)
    )
  }

/** The rate of a number among those whose prefix it begins with: the longest prefix, then the lowest weight. */
export const chooseRate = <T extends RateCandidate>(
  candidates: readonly T[],
  question: RateQuery,
  manner: RateManner,
): T | undefined =>
  candidates
    .filter(({ doc }) => manner.filter_list.every((filter) => judges[filter](doc, question, manner)))
    .toSorted(compare(manner))[0]

/** A rate as the look-up answers it. */
export const numberRate = (number: string, ratedeckId: string, { id, doc }: RateCandidate): NumberRate => {
  const rate = unitsText(costOf(doc))
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

/** Whether a price can be kept exactly. */
export const isExactPrice = (value: number | string) =>
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

/** What the schema cannot say of a rate. */
export const rateProblems = (rate: Partial<Rate>): Problems => ({
  ...priceProblems(rate),
  ...routeProblems(rate),
})

/** Routes made from the prefix, unless there are others; made anew when they were made from another prefix. */
export const withRoutes = (rate: Rate, before?: Rate): Rate => {
  const { routes = [] } = rate
  const wereMade = before !== undefined && routes.length === 1 && routes[0] === defaultRoute(before.prefix)
  return routes.length > 0 && !wereMade ? rate : { ...rate, routes: [defaultRoute(rate.prefix)] }
}

/** 10 for each digit of the prefix, less the whole cents that the carrier asks, or else the customer pays. */
export const generatedWeight = (rate: Pick<Rate, 'prefix' | 'rate_cost' | 'internal_rate_cost'>): number => {
  const dollar = microUnitsOfDollars(1)
  const cents = Number(
    (microUnitsOfDollars(rate.internal_rate_cost ?? rate.rate_cost) * BigInt(centsPerDollar)) / dollar,
  )
  return Math.min(heaviest, Math.max(1, 10 * String(rate.prefix).length - cents))
}

/** Directions, country and prefix. */
export const generatedName = ({ direction = [], iso_country_code: country, prefix }: Rate): string =>
  [...direction, country || 'XX', prefix].join('_')
