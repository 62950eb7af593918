import type { Problems } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { type CarrierModule, maximalPrefixLengthOf, type Offer, type Seeker } from '../carriers/carrier.ts'
import { e164Prefix, nationalPrefix, northAmericanParts } from '../dial-code.ts'
import type { Locality } from '../localities/rules.ts'
import {
  type FindNumbers,
  type FoundNumber,
  type FoundNumberDetails,
  type NumberLocality,
  usualCountry,
} from './schema.ts'

const integerPattern = /^-?\d{1,9}$/

/** The query with numbers as numbers. */
export const searchQueryIn = (query: URLSearchParams): Json => {
  const question: Json = {}
  for (const key of ['prefix', 'quantity', 'offset', 'country']) {
    const text = query.get(key)
    if (text === null) continue
    // An unencoded plus arrives as a space.
    if (key === 'prefix') question.prefix = text.replace(/^ /, '+')
    else question[key] = key !== 'country' && integerPattern.test(text) ? Number(text) : text
  }
  return question
}

const prefixForm = /^\+?\d+$/

const maxNationalDigits = 10

const isTooLong = (prefix: string, country: string) => {
  const whole = e164Prefix(prefix, country) ?? prefix
  return nationalPrefix(whole, country).replace('+', '').length > maxNationalDigits
}

/** What the schema cannot check. */
export const questionProblems = ({ prefix, country = usualCountry }: Partial<FindNumbers>): Problems => {
  const problems: Problems = {}
  if (prefix !== undefined && isTooLong(prefix, country)) {
    const message = `String must not have more than ${maxNationalDigits} digits behind the country's code`
    problems.prefix = { maxLength: { message, target: maxNationalDigits, value: prefix } }
  }
  if (prefix !== undefined && !prefixForm.test(prefix)) {
    const pattern = { message: 'The prefix must be digits', target: prefixForm.source, value: prefix }
    problems.prefix = { pattern }
  }
  if (e164Prefix('0', country) === undefined)
    problems.country = { enum: { message: 'There is no such country', value: country } }
  return problems
}

/** In order: of two offers of one number the first counts. */
export const askedCarriers = (
  { accountId, resellerId }: Seeker,
  configured: readonly CarrierModule[],
): CarrierModule[] => {
  const own: CarrierModule[] =
    accountId !== undefined && resellerId !== undefined
      ? ['knm_reserved', 'knm_reserved_reseller', 'knm_local']
      : ['knm_local']
  return [...new Set([...own, ...configured])]
}

const longestPrefix = 15

export const maximalPrefixLength = (modules: readonly CarrierModule[]) =>
  Math.min(longestPrefix, ...modules.map(maximalPrefixLengthOf))

/** In the order of numbers, each once: the first carrier's offer counts. */
export const joinOffers = (answers: readonly (readonly Offer[])[]): Offer[] => {
  const offers = answers.flat().sort((a, b) => (a.number < b.number ? -1 : a.number > b.number ? 1 : 0))
  return offers.filter(({ number }, at) => offers[at - 1]?.number !== number)
}

export const foundNumber = ({ number, state }: Offer): FoundNumber => ({ number, state })

const textKeys = ['formatted_number', 'npa_nxx', 'number_id', 'status', 'ten_digit']
const centerKeys = ['lata', 'name', 'state']

const textsIn = (data: unknown, keys: readonly string[]): Json =>
  isObject(data)
    ? Object.fromEntries(keys.filter((key) => typeof data[key] === 'string').map((key) => [key, data[key]]))
    : {}

const rateCenter = (center: Json) => (Object.keys(center).length > 0 ? { rate_center: center } : {})

/** The carrier's own values replace those that are computed. */
export const foundInDetail = (
  { number, state, carrierData = {} }: Offer,
  locality: Partial<Locality> = {},
): FoundNumberDetails => {
  const { lata, rateCenter: name, region } = locality
  const parts = northAmericanParts(number)
  return {
    e164: number,
    formatted_number: parts ? `1-${parts.area}-${parts.exchange}-${parts.line}` : number,
    ...(parts ? { npa_nxx: parts.area + parts.exchange } : {}),
    number,
    number_id: number,
    ...rateCenter({
      ...(lata ? { lata } : {}),
      ...(name ? { name } : {}),
      ...(region ? { state: region } : {}),
    }),
    status: state === 'reserved' ? 'Reserved' : 'Available',
    ...(parts ? { ten_digit: parts.area + parts.exchange + parts.line } : {}),
    ...textsIn(carrierData, textKeys),
    ...rateCenter(textsIn(carrierData.rate_center, centerKeys)),
  }
}

export const localityEntry = (number: string, locality: Locality | undefined): NumberLocality => {
  if (!locality) return { number, e164_number: number, status: 'error' }
  const { country, city, region, latitude, longitude } = locality
  const known = { locality: city, province: region, latitude, longitude }
  return {
    country,
    e164_number: number,
    ...(city ? { geocode: { locality: city } } : {}),
    locality: Object.fromEntries(Object.entries(known).filter(([, text]) => text !== '')),
    number,
    status: 'success',
  }
}

/** Answer of the inventory service for an unknown city. */
export const cityNotFound = { data: {}, error: 404, message: 'Not Found', status: 'error' }
