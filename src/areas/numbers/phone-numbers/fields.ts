// What of a request becomes part of a number.

import { isSuperduper } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { moduleOf, numberModules } from './carriers/names.ts'
import type { NumberFacts } from './draft.ts'
import { numberForbidden, numberInvalid } from './failures.ts'
import { tidyFields } from './features/rules.ts'
import type { NumberCaller } from './requests.ts'
import { publicFields } from './rules.ts'

const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** The feature lists that an operator gives a number; others are not heard. */
const ownLists = (fields: Json, isOperator: boolean) => {
  if (!isOperator) return {}
  const { features_allowed: allowed, features_denied: denied } = fields
  return {
    ...(isListOfTexts(allowed) ? { featuresAllowed: allowed } : {}),
    ...(isListOfTexts(denied) ? { featuresDenied: denied } : {}),
  }
}

const modules: ReadonlySet<string> = new Set(numberModules)

/** The carrier that the public fields name; the operator chooses, others may repeat what is so anyway. */
export const carrierIn = (
  { fields, by }: { fields: Json; by: NumberCaller },
  current: string,
  repeating: 'allowed' | 'refused',
): string => {
  const name = fields.carrier_name
  if (typeof name !== 'string') return current
  const module = moduleOf(name)
  if (!isSuperduper(by)) {
    if (repeating === 'allowed' && module === current) return current
    throw failure(numberForbidden, { cause: 'feature carrier_name is not available' })
  }
  if (module && modules.has(module)) return module
  throw failure(numberInvalid, { cause: `'${name}' is not known by the system` })
}

export const withFields = (facts: NumberFacts, fields: Json, by: NumberCaller): NumberFacts => ({
  ...facts,
  doc: tidyFields(publicFields(fields, facts.hidden.deviceId ? facts.doc : {})),
  hidden: { ...facts.hidden, ...ownLists(fields, isSuperduper(by)) },
})
