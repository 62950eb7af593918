import { anyone, anyToken } from '../../../auth/policies.ts'
import { get, put } from '../../../http/route.ts'
import { badIdentifier, failure, hasProblems, invalid } from '../../../lib/failure.ts'
import { anyObject, anyText, list } from '../../../lib/schema.ts'
import { area } from '../../area.ts'

export const schemasArea = area({
  name: 'schemas',
  describes: { schemas: 'JSON Schemas of request bodies.' },
  collects: ['schemas'],
  create({ validate }, _needs, { schemas }) {
    const schemaOf = (name: string) => {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
      if (!schema) throw failure(badIdentifier, { cause: name.slice(0, 200) })
      return schema
    }

    const routes = [
      get('/v2/schemas', {
        summary: 'List the names of the published schemas',
        allow: anyone,
        answers: list(anyText()),
        run: () => Object.keys(schemas).sort(),
      }),
      get('/v2/schemas/{schema_name}', {
        summary: 'Read a schema',
        allow: anyone,
        answers: anyObject({ title: 'JSON Schema' }),
        run: ({ path: { schema_name: id } }) => ({
          id,
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          ...schemaOf(id),
        }),
      }),
      put('/v2/schemas/{schema_name}/validation', {
        summary: 'Validate data against a schema: the response shows it with defaults',
        allow: anyToken,
        body: anyObject(),
        answers: anyObject(),
        async run({ path, data }) {
          const { value, problems } = await validate(schemaOf(path.schema_name), data)
          if (hasProblems(problems)) throw invalid(problems)
          return value
        },
      }),
    ]
    return { routes }
  },
})
