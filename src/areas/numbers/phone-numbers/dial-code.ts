import { createRequire } from 'node:module'
import type * as Metadata from 'libphonenumber-js/min'
import type { CountryCode } from 'libphonenumber-js/min'

const load = createRequire(import.meta.url)

let loaded: typeof Metadata | undefined

/** What is known of the numbers of all countries: 20 MB, loaded when the first number is asked about. */
export const phoneMetadata = (): typeof Metadata => {
  loaded ??= load('libphonenumber-js/min') as typeof Metadata
  return loaded
}

/** A country as ISO 3166-1 writes it, in capitals. */
const countryIn = (text: string): CountryCode | undefined => {
  const country = text.toUpperCase()
  return phoneMetadata().isSupportedCountry(country) ? country : undefined
}

export const isCountry = (text: string) => countryIn(text) !== undefined

/** Numbers of North America begin with +1; what comes behind never begins with a 1. */
const northAmerica = '1'

/**
 * The beginning of E.164 numbers that a text means: with a plus as it is, else national digits of the country.
 * Undefined for countries that have no numbers.
 */
export const e164Prefix = (text: string, country: string): string | undefined => {
  if (text.startsWith('+')) return text
  const known = countryIn(country)
  if (!known) return undefined
  const code = phoneMetadata().getCountryCallingCode(known)
  return code === northAmerica && text.startsWith(northAmerica) ? `+${text}` : `+${code}${text}`
}

/** What of an E.164 prefix is left behind the country's code: what people search by. */
export const nationalPrefix = (prefix: string, country: string) => {
  const known = countryIn(country)
  const code = known ? `+${phoneMetadata().getCountryCallingCode(known)}` : '+'
  return prefix.startsWith(code) ? prefix.slice(code.length) : prefix
}

/** Area code and exchange of a North American number, and its parts. */
export const northAmericanParts = (number: string) => {
  const [, area, exchange, line] = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(number) ?? []
  return area && exchange && line ? { area, exchange, line } : undefined
}
