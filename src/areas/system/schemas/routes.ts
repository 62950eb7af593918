import { anyone, anyToken } from '../../../auth/policies.ts'
import { get, put, type Route } from '../../../http/route.ts'
import { anyObject, anyText, list } from '../../../lib/schema.ts'
import type { Schemas } from './operations.ts'

export const schemaRoutes = (schemas: Schemas): Route[] => [
  get('/v2/schemas', {
    summary: 'List the names of the published schemas',
    allow: anyone,
    answers: list(anyText()),
    run: () => schemas.names(),
  }),
  get('/v2/schemas/{schema_name}', {
    summary: 'Read a schema',
    allow: anyone,
    answers: anyObject({ title: 'JSON Schema' }),
    run: ({ path }) => schemas.read(path.schema_name),
  }),
  put('/v2/schemas/{schema_name}/validation', {
    summary: 'Hold data against a schema: the answer shows it with its defaults',
    allow: anyToken,
    body: anyObject(),
    answers: anyObject(),
    run: ({ path, data }) => schemas.check(path.schema_name, data),
  }),
]
