import type { TSchema } from 'typebox'
import { badIdentifier, failure, hasProblems, invalid, type Problems } from '../../../lib/failure.ts'

type Validate = (schema: TSchema, data: unknown) => Promise<{ value: unknown; problems: Problems }>

export type Schemas = ReturnType<typeof createSchemas>

export const createSchemas = (registry: Readonly<Record<string, TSchema>>, validate: Validate) => {
  const get = (name: string): TSchema => {
    const schema = Object.hasOwn(registry, name) ? registry[name] : undefined
    if (!schema) throw failure(badIdentifier, { cause: name.slice(0, 200) })
    return schema
  }

  return {
    names: () => Object.keys(registry).sort(),

    read: (name: string) => ({
      id: name,
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...get(name),
    }),

    /** Returns the data with defaults, or throws a 400. */
    async check(name: string, data: unknown) {
      const { value, problems } = await validate(get(name), data)
      if (hasProblems(problems)) throw invalid(problems)
      return value
    },
  }
}
