import { isObject, type Json } from '../lib/json.ts'
import { pathOf } from '../lib/property-path.ts'

interface KeyedShape {
  type?: string | string[]
  properties?: Record<string, KeyedShape>
  patternProperties?: Record<string, KeyedShape>
  additionalProperties?: KeyedShape | boolean
  items?: KeyedShape
  anyOf?: KeyedShape[]
  'x-names'?: 'keys' | 'data'
  'x-own-fields'?: true
}

/** A key that nothing reads. In `path`, dots within keys are written `%2E`. */
export interface Warning {
  path: string
  message: string
}

const maxWarnings = 100
const unread = 'The server does not use this key'

/** The possible shapes of a value: one of them matches. */
type Shapes = readonly KeyedShape[]

const alternativesOf = (shape: KeyedShape): Shapes => shape.anyOf?.flatMap(alternativesOf) ?? [shape]

const shapeOfKey = (shape: KeyedShape, key: string): KeyedShape | undefined => {
  const own = shape.properties ?? {}
  if (Object.hasOwn(own, key)) return own[key]
  const patterns = Object.entries(shape.patternProperties ?? {})
  const [, fitting] = patterns.find(([pattern]) => new RegExp(pattern, 'u').test(key)) ?? []
  if (fitting) return fitting
  return isObject(shape.additionalProperties) ? shape.additionalProperties : undefined
}

const shapesOfKey = (shapes: Shapes, key: string): Shapes =>
  shapes.flatMap((shape) => shapeOfKey(shape, key) ?? []).flatMap(alternativesOf)

/** Free objects have none. */
const hasKeys = ({ properties, patternProperties, additionalProperties }: KeyedShape) =>
  properties !== undefined || patternProperties !== undefined || isObject(additionalProperties)

const isFree = (shape: KeyedShape) => [shape.type].flat().includes('object') && !hasKeys(shape)

/** `answered`: how the value is returned. A key that is only in `answered` is computed by the server. */
type Question = { shapes: Shapes; answered: Shapes; path: readonly string[] }

const unknownIn = (values: Json, { shapes, answered, path }: Question): string[][] =>
  Object.entries(values).flatMap(([key, value]) => {
    const here = [...path, key]
    const inner = shapesOfKey(shapes, key)
    const returned = shapesOfKey(answered, key)
    if (inner.length > 0) return unknownBelow(value, { shapes: inner, answered: returned, path: here })
    const names = shapes.map((shape) => shape['x-names']).find((kind) => kind !== undefined)
    if (isObject(value) && names !== undefined)
      return names === 'keys' ? unknownIn(value, { shapes, answered, path: here }) : []
    const isReturned = answered.some(({ properties = {} }) => Object.hasOwn(properties, key))
    const isExpected = value === null || isReturned || shapes.some((shape) => shape['x-own-fields'])
    return isExpected ? [] : [here]
  })

const itemsOf = (shapes: Shapes) =>
  shapes.flatMap(({ items }) => (items ? alternativesOf(items) : [])).filter((shape) => !isFree(shape))

const unknownBelow = (value: unknown, { shapes, answered, path }: Question): string[][] => {
  if (Array.isArray(value)) {
    const inner = { shapes: itemsOf(shapes), answered: itemsOf(answered) }
    if (!inner.shapes.some((shape) => hasKeys(shape) || shape.items)) return []
    return value.flatMap((one, index) => unknownBelow(one, { ...inner, path: [...path, `${index}`] }))
  }
  if (!isObject(value) || shapes.some(isFree) || !shapes.some(hasKeys)) return []
  return unknownIn(value, { shapes, answered, path })
}

/** At most 100, and no long key. */
export const warningsAt = (paths: readonly string[][], message: string): Warning[] =>
  paths.slice(0, maxWarnings).map((path) => ({
    path: pathOf(path.map((key) => key.slice(0, 200))),
    message,
  }))

/** The keys of values that their schema does not contain: nothing reads them. */
export const warningsOf = (shape: object, values: Json, path: readonly string[] = []): Warning[] =>
  warningsAt(
    unknownBelow(values, { shapes: alternativesOf(shape as KeyedShape), answered: [], path }),
    unread,
  )

/** The same for the data of a request, which may echo what the server has computed. */
export const requestWarnings = (body: object, answers: object, data: Json): Warning[] =>
  warningsAt(
    unknownBelow(data, {
      shapes: alternativesOf(body as KeyedShape),
      answered: alternativesOf(answers as KeyedShape),
      path: [],
    }),
    unread,
  )
