import type { ErrorObject } from 'ajv'
import type { Place } from '../../lib/removal.ts'
import type { Flaw } from './json-copy.ts'
import { isReported, segmentsOf } from './validation-problems.ts'

// The smallest values without which a document is valid, as far as the validator's findings tell.

type Find = (error: ErrorObject) => readonly (string | number)[]

const keysBeyond = (data: unknown, limit: number) => Object.keys(data as object).slice(limit)

const repeated = (data: unknown) => {
  const texts = (data as readonly unknown[]).map((item) => JSON.stringify(item))
  return [...texts.keys()].filter((index) => texts.indexOf(texts[index] as string) !== index)
}

/** What of the value that an error is about is at fault: keys, or positions of items. For other errors it is all of it. */
const partsAtFault: Readonly<Record<string, Find>> = {
  required: ({ params }) => [params.missingProperty],
  additionalProperties: ({ params }) => [params.additionalProperty],
  dependencies: ({ params }) => [params.property],
  propertyNames: ({ params }) => [params.propertyName],
  maxItems: ({ data, params }) => keysBeyond(data, params.limit),
  maxProperties: ({ data, params }) => keysBeyond(data, params.limit),
  uniqueItems: ({ data }) => repeated(data),
}

const isAtOrBelow = (path: string, outer: string) => path === outer || path.startsWith(`${outer}/`)

/** The errors of the one alternative whose type the value has; undefined where it has that of none or of several. */
const errorsOfAlternative = (error: ErrorObject, all: readonly ErrorObject[]) => {
  const prefix = `${error.schemaPath}/`
  const inner = all.filter(
    ({ schemaPath, instancePath }) =>
      schemaPath.startsWith(prefix) && isAtOrBelow(instancePath, error.instancePath),
  )
  const alternatives = [
    ...Map.groupBy(inner, ({ schemaPath }) => Number.parseInt(schemaPath.slice(prefix.length), 10)).values(),
  ]
  const fitting = alternatives.filter(
    (errors) =>
      !errors.some(({ keyword, instancePath }) => keyword === 'type' && instancePath === error.instancePath),
  )
  const [only] = fitting
  if (!only || fitting.length > 1) return undefined
  // Seen from within the alternative its own errors are those of no combination.
  const start =
    prefix.length + String(Number.parseInt(only[0]?.schemaPath.slice(prefix.length) ?? '', 10)).length
  return only.map((one) => ({ ...one, schemaPath: `#${one.schemaPath.slice(start)}` }))
}

const placesOf = (errors: readonly ErrorObject[]): Place[] =>
  errors.filter(isReported).flatMap((error) => {
    const place = segmentsOf(error)
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf') {
      const inner = errorsOfAlternative(error, errors)
      if (inner) return placesOf(inner)
    }
    const parts = partsAtFault[error.keyword]?.(error)
    return parts ? parts.map((part) => [...place, String(part)]) : [place]
  })

const isAboutSize = ({ keyword }: ErrorObject) => keyword === 'maxItems' || keyword === 'maxProperties'

/** What is too much is left for the next round while other errors may make the list or object smaller. */
export const invalidPlaces = (errors: readonly ErrorObject[], flaws: readonly Flaw[]): Place[] => {
  const others = errors.filter((error) => !isAboutSize(error))
  const found = [...flaws.map(({ path }) => path.map(String)), ...placesOf(others)]
  return found.length > 0 ? found : placesOf(errors)
}
