import type { Json } from '../../../lib/json.ts'
import { withoutSecrets } from '../../../lib/secrets.ts'
import { mergeSections, withoutDefaults } from '../../../settings/sections.ts'

/** Inherited layers, the system's first, without the secrets of their owners. */
export const belowAccount = (schema: object | undefined, layers: readonly Json[]) =>
  mergeSections(...layers.map((layer) => withoutSecrets(schema, layer)))

export const effective = (below: Json, own: Json) => mergeSections(below, own)

export const difference = (values: Json, below: Json) => withoutDefaults(values, below)
