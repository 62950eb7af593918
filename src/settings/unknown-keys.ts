import { isObject, type Json } from '../lib/json.ts'

interface Shape {
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  'x-names'?: 'keys' | 'data'
}

/** A key that nothing here follows, where it stands: dots within keys are written `%2E`. */
export interface Warning {
  path: string
  message: string
}

const mostWarnings = 100
const message = 'Nothing in this server follows this key: it is kept as it was given'

const shapeOfKey = (shape: Shape, key: string): Shape | undefined => {
  const own = shape.properties ?? {}
  if (Object.hasOwn(own, key)) return own[key]
  const patterns = Object.entries(shape.patternProperties ?? {})
  const [, fitting] = patterns.find(([pattern]) => new RegExp(pattern, 'u').test(key)) ?? []
  if (fitting) return fitting
  return isObject(shape.additionalProperties) ? shape.additionalProperties : undefined
}

/** Free objects have none. */
const hasKeys = ({ properties, patternProperties, additionalProperties }: Shape) =>
  properties !== undefined || patternProperties !== undefined || isObject(additionalProperties)

const unknownIn = (shape: Shape, values: Json, place: readonly string[]): string[][] =>
  Object.entries(values).flatMap(([key, value]) => {
    const path = [...place, key]
    const inner = shapeOfKey(shape, key)
    const names = isObject(value) ? shape['x-names'] : undefined
    if (!inner && names === undefined) return [path]
    if (!inner) return names === 'keys' ? unknownIn(shape, value as Json, path) : []
    return hasKeys(inner) && isObject(value) ? unknownIn(inner, value, path) : []
  })

/** The keys of values that their schema does not know: nobody reads them. */
export const warningsOf = (shape: object, values: Json, place: readonly string[] = []): Warning[] =>
  unknownIn(shape as Shape, values, place)
    .slice(0, mostWarnings)
    .map((path) => ({
      path: path.map((key) => key.slice(0, 200).replaceAll('.', '%2E')).join('.'),
      message,
    }))
