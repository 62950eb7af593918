// Keys that nothing reads, in every object that a request or a settings document may contain.
import type { TSchema } from 'typebox'
import { expect, it } from 'vitest'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { allRoutes } from '../../src/commands/openapi.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { requestWarnings } from '../../src/settings/unknown-keys.ts'
import { placesIn } from '../support/matchers/schema-texts.ts'

const bodies = allRoutes().flatMap(({ method, path, spec: { body, answers, judgesItself } }) =>
  body && !judgesItself ? [[`${method} ${path}`, body, answers] as const] : [],
)
const documents = Object.entries(declarationsOf(areas).settings).map(
  ([name, document]) => [`system_configs/${name}`, document, {}] as const,
)

const unread = 'nothing_reads_this'

/** Objects that name their keys. Fields of the client's own and objects of any keys are left out. */
const isNamed = ({ properties, patternProperties, additionalProperties, ...schema }: Json) =>
  isObject(properties) &&
  !patternProperties &&
  !isObject(additionalProperties) &&
  !('x-own-fields' in schema || 'x-names' in schema)

it.each([...bodies, ...documents])(
  '%s rejects or reports an unknown key in each of its objects',
  (_name, schema, answers) => {
    const validate = createValidation(schema as TSchema)
    for (const { path, schema: inner, around } of placesIn(schema).filter((place) => isNamed(place.schema))) {
      const data = around({ [unread]: 1 }) as Json
      const here = path === '' ? unread : `${path}.${unread}`
      const told = requestWarnings(schema, answers, data).map((warning) => warning.path)
      // Alternatives report their problems at the place where they begin.
      const rejected = Object.keys(validate(data).problems).filter((place) => here.startsWith(place))
      if (inner.additionalProperties === false) expect(rejected).not.toEqual([])
      else expect(told).toContain(here)
    }
  },
)
