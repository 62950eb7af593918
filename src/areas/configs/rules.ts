import { isObject, type Json } from '../../lib/json.ts'
import { isSecretKey } from '../../lib/secrets.ts'
import { mergeSections, withoutDefaults } from '../../settings/sections.ts'

const hideIn = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(hideIn)
  return isObject(value) ? withoutSecrets(value) : value
}

/** What of another account's values may be shown: passwords and keys stay with their owner. */
const withoutSecrets = (values: Json): Json =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => !isSecretKey(key))
      .map(([key, value]) => [key, hideIn(value)]),
  )

/** The layers below an account's own values, the system's first. */
export const belowAccount = (layers: readonly Json[]) => mergeSections(...layers.map(withoutSecrets))

export const effective = (below: Json, own: Json) => mergeSections(below, own)

export const difference = (values: Json, below: Json) => withoutDefaults(values, below)
