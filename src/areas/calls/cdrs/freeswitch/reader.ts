import { isObject, type Json } from '../../../../lib/json.ts'

// Readers of a mod_json_cdr leg. They accept missing parts and wrong types.

export const objectIn = (holder: unknown, name: string): Json => {
  const value = isObject(holder) ? holder[name] : undefined
  return isObject(value) ? value : {}
}

export const listIn = (holder: unknown, name: string): unknown[] => {
  const value = isObject(holder) ? holder[name] : undefined
  return Array.isArray(value) ? value : []
}

export const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number that is not negative. Versions of FreeSWITCH write numbers as text or as numbers. */
export const countOf = (value: unknown): number | undefined => {
  const text = textOf(value)
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : undefined
}

/** A time. 0 means never. */
export const momentOf = (value: unknown) => countOf(value) || undefined

export const isSet = (value: unknown) => value === true || value === 'true' || value === '1' || value === 1

const schemeForm = /^<?sips?:/

export const addressOf = (text: string | undefined) => text?.replace(schemeForm, '').replace(/>$/, '')

export const hostOf = (address: string | undefined) => address?.split('@')[1]?.replace(/[:;].*$/, '')

export const createReader = (leg: Json) => {
  const variables = objectIn(leg, 'variables')
  // The newest entry of the call flow comes first.
  const callflow = listIn(leg, 'callflow')
  const profile = objectIn(callflow[0], 'caller_profile')

  const profileOf = (side: 'originator' | 'originatee'): Json => {
    for (const entry of callflow) {
      const [found] = listIn(objectIn(objectIn(entry, 'caller_profile'), side), `${side}_caller_profiles`)
      if (isObject(found)) return found
    }
    return {}
  }

  const first = (...names: string[]): string | undefined => {
    for (const name of names) {
      const text = textOf(variables[name])
      if (text !== undefined) return text
    }
    return undefined
  }

  return {
    leg,
    variables,
    profile,
    times: objectIn(callflow[0], 'times'),
    originator: profileOf('originator'),
    originatee: profileOf('originatee'),
    first,
  }
}

export type Reader = ReturnType<typeof createReader>

export const directionOf = ({ leg, first }: Reader) => {
  const direction = textOf(objectIn(leg, 'channel_data').direction) ?? first('direction')
  return direction === 'inbound' || direction === 'outbound' ? direction : undefined
}
