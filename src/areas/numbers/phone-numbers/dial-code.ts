import { createRequire } from 'node:module'
import type * as Metadata from 'libphonenumber-js/min'
import type { CountryCode } from 'libphonenumber-js/min'

const load = createRequire(import.meta.url)

let loadedMetadata: typeof Metadata | undefined

/** Numbering plans of all countries: 20 MB, loaded at the first use. */
export const phoneMetadata = (): typeof Metadata => {
  loadedMetadata ??= load('libphonenumber-js/min') as typeof Metadata
  return loadedMetadata
}

const countryIn = (text: string): CountryCode | undefined => {
  const country = text.toUpperCase()
  return phoneMetadata().isSupportedCountry(country) ? country : undefined
}

export const isCountry = (text: string) => countryIn(text) !== undefined

/** North American area codes never begin with a 1. */
const northAmerica = '1'

/** A text with a plus as it is; others as national digits of the country. Undefined for unknown countries. */
export const e164Prefix = (text: string, country: string): string | undefined => {
  if (text.startsWith('+')) return text
  const known = countryIn(country)
  if (!known) return undefined
  const code = phoneMetadata().getCountryCallingCode(known)
  return code === northAmerica && text.startsWith(northAmerica) ? `+${text}` : `+${code}${text}`
}

/** The digits after the country code. */
export const nationalPrefix = (prefix: string, country: string) => {
  const known = countryIn(country)
  const code = known ? `+${phoneMetadata().getCountryCallingCode(known)}` : '+'
  return prefix.startsWith(code) ? prefix.slice(code.length) : prefix
}

export const northAmericanParts = (number: string) => {
  const [, area, exchange, line] = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(number) ?? []
  return area && exchange && line ? { area, exchange, line } : undefined
}
