import type { ErrorObject } from 'ajv'
import { singleLinePattern } from '../../lib/control-characters.ts'
import type { Problem, Problems } from '../../lib/failure.ts'
import { isObject, maxDepth } from '../../lib/json.ts'
import { memberOf } from '../../lib/member.ts'
import { pathOf } from '../../lib/property-path.ts'
import type { Place } from '../../lib/removal.ts'
import { patternMessageOf } from '../../lib/schema.ts'
import { isSecretKey, maskUrls, unmaskedPattern } from '../../lib/secrets.ts'
import type { Flaw, Segment } from './json-copy.ts'

// Converts findings of the JSON Schema validator to problems of the API.

interface RuledProblem extends Problem {
  rule: string
  key?: string
}

type Describe = (error: ErrorObject) => RuledProblem

const longestEcho = 256
const widestEcho = 8

const shorten = (text: string) =>
  text.length > longestEcho ? `${text.slice(0, longestEcho).toWellFormed()}…` : text

/** The document itself is `data`. */
const dottedPath = (segments: readonly Segment[]) =>
  segments.length === 0 ? 'data' : pathOf(segments.map((segment) => shorten(String(segment).toWellFormed())))

/** Array positions stay texts: they print the same. */
export const segmentsOf = ({ instancePath }: ErrorObject) =>
  instancePath === ''
    ? []
    : instancePath
        .slice(1)
        .split('/')
        .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

const isSmall = (value: unknown) =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0

const echoOfObject = (value: object) => {
  const entries = Object.entries(value)
  const isEchoed =
    entries.length <= widestEcho && entries.every(([key, inner]) => isSmall(inner) && !isSecretKey(key))
  if (!isEchoed) return undefined
  if (Array.isArray(value)) return value.map(echoOf)
  return Object.fromEntries(entries.map(([key, inner]) => [shorten(key), echoOf(inner)]))
}

/** The part of an invalid value that the response repeats, of bounded size. */
const echoOf = (value: unknown): unknown => {
  if (typeof value === 'string') return shorten(maskUrls(value))
  return typeof value === 'object' && value !== null ? echoOfObject(value) : value
}

/** A problem that the values of its error describe. */
const problem =
  (
    rule: string,
    message: string,
    details: (error: ErrorObject) => Partial<RuledProblem> = () => ({}),
  ): Describe =>
  (error) => ({ rule, message, value: error.data, ...details(error) })

const bound =
  (rule: string, message: (limit: number) => string): Describe =>
  ({ params, data }) => ({ rule, message: message(params.limit), target: params.limit, value: data })

const length =
  (rule: string, message: (limit: number) => string): Describe =>
  (error) => ({ ...bound(rule, message)(error), cause: error.data })

const combination = (rule: string) => problem(rule, 'failed to validate')

const typeOf = (schema: unknown) => (isObject(schema) ? schema.type : undefined)

/** With the types of the alternatives, if each has one. */
const alternatives =
  (rule: string): Describe =>
  (error) => {
    const types: unknown[] = Array.isArray(error.schema) ? error.schema.map(typeOf) : []
    const told = combination(rule)(error)
    return types.length > 0 && !types.includes(undefined) ? { ...told, target: [...new Set(types)] } : told
  }

const enumMessage = 'Value not found in enumerated list of values'

const describeFormat: Describe = ({ params, data }) =>
  params.format === 'timezone'
    ? { rule: 'enum', message: enumMessage, target: 'names of the IANA time zone database', value: data }
    : {
        rule: 'wrong_format',
        message: 'Field is not in the correct format',
        value: data,
        format: params.format,
      }

const describeType: Describe = (error) => {
  const target = [error.params.type].flat().join(', ')
  return { rule: 'type', message: `Value did not match type(s): ${target}`, target, value: error.data }
}

const describePattern: Describe = ({ params: { pattern }, data, parentSchema }) => {
  if (pattern === unmaskedPattern) {
    const message = 'The URL contains *** instead of a password or key: send the password or key again'
    return { rule: 'wrong_format', message, value: data, format: 'uri' }
  }
  const message =
    pattern === singleLinePattern
      ? 'Text must be one line without control characters'
      : String(patternMessageOf(parentSchema) ?? `Failed to match pattern '${pattern}'`)
  return { rule: 'pattern', message, target: pattern, value: data }
}

const descriptions: Record<string, Describe> = {
  required: problem('required', 'Field is required but missing', ({ params: { missingProperty: key } }) => ({
    value: key,
    key,
  })),
  type: describeType,
  enum: problem('enum', enumMessage, ({ params }) => ({ target: params.allowedValues })),
  const: problem('enum', enumMessage, ({ params }) => ({ target: [params.allowedValue] })),
  minLength: length('minLength', (limit) => `String must be at least ${limit} characters`),
  maxLength: length('maxLength', (limit) => `String must not be more than ${limit} characters`),
  minimum: bound('minimum', (limit) => `Value must be at least ${limit}`),
  maximum: bound('maximum', (limit) => `Value must be at most ${limit}`),
  exclusiveMinimum: bound('minimum', (limit) => `Value must be more than ${limit}`),
  exclusiveMaximum: bound('maximum', (limit) => `Value must be less than ${limit}`),
  minItems: bound('minItems', (limit) => `The list must have at least ${limit} items`),
  maxItems: bound('maxItems', (limit) => `The list must not have more than ${limit} items`),
  minProperties: bound('minProperties', (limit) => `The object must have at least ${limit} keys`),
  maxProperties: bound('maxProperties', (limit) => `The object must not have more than ${limit} keys`),
  uniqueItems: problem('uniqueItems', 'List of items is not unique'),
  pattern: describePattern,
  format: describeFormat,
  additionalProperties: ({ params, data, parentSchema }) => ({
    rule: 'additionalProperties',
    message: 'Only properties that the schema defines are allowed',
    ...(parentSchema?.properties ? { target: Object.keys(parentSchema.properties) } : {}),
    value: memberOf(data, params.additionalProperty),
    key: params.additionalProperty,
  }),
  additionalItems: problem('additionalItems', 'Only items that the schema defines are allowed'),
  dependencies: ({ params }) => ({
    rule: 'dependencies',
    message: `Field needs ${params.deps} as well`,
    value: params.missingProperty,
    key: params.property,
  }),
  multipleOf: ({ params, data }) => ({
    rule: 'divisibleBy',
    message: `Value not divisible by ${params.multipleOf}`,
    target: params.multipleOf,
    value: data,
  }),
  oneOf: alternatives('not_one_schema_valid'),
  anyOf: alternatives('any_schemas_not_valid'),
  not: combination('not_schema_valid'),
}

const describe: Describe = (error) =>
  descriptions[error.keyword]?.(error) ?? combination(error.keyword)(error)

// Only the combination is reported, not its failed alternatives.
const insideCombination =
  /(?<!\/(?:properties|patternProperties))\/(?:(?:anyOf|oneOf)\/\d+|not|contains|propertyNames)\//
const isReported = ({ keyword, schemaPath }: ErrorObject) =>
  keyword !== 'if' && !insideCombination.test(schemaPath)

const flawRules: Record<Flaw['kind'], [string, Problem]> = {
  depth: ['maxDepth', { message: `Value is nested more than ${maxDepth} levels deep`, target: maxDepth }],
  text: ['invalid', { message: 'Text must not contain NUL or unpaired surrogate characters' }],
  number: ['invalid', { message: 'Number is out of range' }],
}

const hide = (problem: Problem): Problem => {
  const { value: _value, cause: _cause, ...rest } = problem
  return rest
}

const echoed = (problem: Problem): Problem => {
  const shown: Problem = { ...problem }
  for (const field of ['value', 'cause'] as const) {
    if (!(field in shown)) continue
    const echo = echoOf(shown[field])
    if (echo === undefined) delete shown[field]
    else shown[field] = echo
  }
  return shown
}

const reportedPaths = 500

/** Collects problems by path: the first 500, because responses are bounded. */
export const createProblemReport = (flawedKeys: ReadonlySet<Segment>) => {
  const paths = new Map<string, Record<string, Problem>>()
  const failingKeys = new Set(flawedKeys)
  let hasFailedWhole = false

  const add = (place: readonly Segment[], rule: string, problem: Problem) => {
    if (place[0] === undefined) hasFailedWhole = true
    else failingKeys.add(place[0])
    const path = dottedPath(place)
    const rules = paths.get(path)
    if (rules) rules[rule] ??= problem
    else if (paths.size < reportedPaths) paths.set(path, { [rule]: problem })
  }

  return {
    addFlaw({ path, kind }: Flaw) {
      add(path, ...flawRules[kind])
    },

    addError(error: ErrorObject) {
      if (!isReported(error)) return
      const { rule, key, ...problem } = describe(error)
      const place = key === undefined ? segmentsOf(error) : [...segmentsOf(error), key]
      const isSecret = rule !== 'required' && place.some(isSecretKey)
      add(place, rule, isSecret ? hide(problem) : echoed(problem))
    },

    problems: (): Problems => Object.fromEntries(paths),

    /** The value without its invalid top-level keys; empty if the whole value is invalid. */
    soundPart(value: unknown): object {
      if (hasFailedWhole || typeof value !== 'object' || value === null) return {}
      return Object.fromEntries(Object.entries(value).filter(([key]) => !failingKeys.has(key)))
    },
  }
}

// The smallest values to remove to make a document valid.

type Find = (error: ErrorObject) => readonly (string | number)[]

const keysBeyond = (data: unknown, limit: number) => Object.keys(data as object).slice(limit)

const repeated = (data: unknown) => {
  const texts = (data as readonly unknown[]).map((item) => JSON.stringify(item))
  return [...texts.keys()].filter((index) => texts.indexOf(texts[index] as string) !== index)
}

/** The invalid keys or positions in the value of an error. Without an entry: the whole value. */
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

/** The errors of the only alternative that has the type of the value. */
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
  // As paths within the alternative.
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

/** Excess items wait for the next round, because other removals may make the list smaller. */
export const invalidPlaces = (errors: readonly ErrorObject[], flaws: readonly Flaw[]): Place[] => {
  const others = errors.filter((error) => !isAboutSize(error))
  const found = [...flaws.map(({ path }) => path.map(String)), ...placesOf(others)]
  return found.length > 0 ? found : placesOf(errors)
}
