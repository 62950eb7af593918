import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { Static, TSchema } from 'typebox'
import { singleLinePattern } from '../../lib/control-characters.ts'
import type { Problems } from '../../lib/failure.ts'
import { type Handover, isExactNumber, isObject, type Json } from '../../lib/json.ts'
import type { Place } from '../../lib/removal.ts'
import { currentValue, isMultiline } from '../../lib/schema.ts'
import { isSecretUrl, unmaskedPattern } from '../../lib/secrets.ts'
import { isTimezone } from '../../lib/timezones.ts'
import { isEmailAddress } from '../../mail/email-address.ts'
import { copyJson, type JsonCopy, takeJson } from './json-copy.ts'
import { createProblemReport, invalidPlaces, segmentsOf } from './validation-problems.ts'

const isText = ({ type, enum: values }: Json) =>
  values === undefined && (type === 'string' || (Array.isArray(type) && type.includes('string')))

const inEach = (schemas: unknown): unknown =>
  isObject(schemas)
    ? Object.fromEntries(Object.entries(schemas).map(([key, one]) => [key, withTextRules(one)]))
    : schemas

const inList = (schemas: unknown): unknown => (Array.isArray(schemas) ? schemas.map(withTextRules) : schemas)

const parts: Readonly<Record<string, (part: unknown) => unknown>> = {
  properties: inEach,
  patternProperties: inEach,
  additionalProperties: (part) => withTextRules(part),
  items: (part) => withTextRules(part),
  anyOf: inList,
  oneOf: inList,
  allOf: inList,
}

/**
 * Adds the rules for texts of clients: one line unless marked as multiline, and no mask in a URL that may contain a password.
 */
const withTextRules = (schema: unknown): unknown => {
  if (!isObject(schema) || isMultiline(schema)) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, part]) => [key, parts[key]?.(part) ?? part]),
  )
  if (!isText(schema)) return inner
  const line = { pattern: singleLinePattern }
  if (isSecretUrl(schema)) return { ...inner, allOf: [line, { pattern: unmaskedPattern }] }
  return 'pattern' in schema ? { ...inner, allOf: [line] } : { ...inner, ...line }
}

interface Judgement<T> {
  /** With defaults and converted texts. It has its type only without problems. */
  value: T
  problems: Problems
  /** The value without its invalid top-level keys, for further rules. */
  sound: Partial<T>
  /** The smallest invalid values, and missing keys. */
  places?: () => readonly Place[]
}

/** `strict` rejects text where a number or boolean is required. */
export type Manner = 'lenient' | 'strict'

export type Validation<T> = (data: unknown, manner?: Manner, handover?: Handover) => Judgement<T>

// Only the first error of larger documents is reported: collecting all could take gigabytes.
const manyValues = 20_000
const castRounds = 10

const within = (length: number, isValid: (text: string) => boolean) => (text: string) =>
  text.length <= length && isValid(text)

const createAjv = (allErrors: boolean) =>
  new Ajv({
    allErrors,
    strict: false,
    strictNumbers: true,
    useDefaults: true,
    verbose: true,
    messages: false,
    // The schemas are our own and tested.
    meta: false,
    validateSchema: false,
    logger: false,
    // Halves the compile time without a measurable effect later.
    code: { optimize: false },
    formats: {
      date: fullFormats.date,
      'date-time': fullFormats['date-time'],
      hostname: within(254, (text) => (fullFormats.hostname as RegExp).test(text)),
      ipv4: fullFormats.ipv4,
      uri: within(4096, fullFormats.uri as (text: string) => boolean),
      email: isEmailAddress,
      timezone: isTimezone,
      // Patterns of users are compiled elsewhere, by an engine without backtracking.
      regex: true,
    },
  })

const taken = (data: unknown, handover: Handover) =>
  handover === 'lent' ? copyJson(data) : takeJson(data, { areTextsSound: handover !== 'given' })

const once = <T>(make: () => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const exhaustive = once(() => createAjv(true))
const hasty = once(() => createAjv(false))

const numeric = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

const castText: Record<string, (text: string) => unknown> = {
  integer: (text) => (numeric.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined),
  number: (text) => (numeric.test(text) && isExactNumber(Number(text)) ? Number(text) : undefined),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
}

const firstDefined = <T>(items: readonly T[], pick: (item: T) => unknown) => {
  for (const item of items) {
    const picked = pick(item)
    if (picked !== undefined) return picked
  }
  return undefined
}

/** The value that a text represents, if any. Strict schemas have aliases of values, too. */
const castOf = ({ keyword, data, params, propertyName, parentSchema = {} }: ErrorObject, manner: Manner) => {
  if (typeof data !== 'string' || data.length > 40 || propertyName !== undefined) return undefined
  const current = currentValue(parentSchema, data)
  if (current !== undefined || manner === 'strict') return current
  if (keyword === 'type') return firstDefined([params.type].flat(), (type) => castText[type]?.(data))
  return params.allowedValues?.find((allowed: unknown) => String(allowed) === data)
}

interface Root extends Json {
  data: unknown
}

const isHolder = (value: unknown): value is Json => typeof value === 'object' && value !== null

const setAt = (root: Root, segments: readonly string[], value: unknown) => {
  let holder: Json = root
  let key = 'data'
  for (const segment of segments) {
    const inner = holder[key]
    if (!isHolder(inner)) return
    holder = inner
    key = segment
  }
  holder[key] = value
}

const castTexts = (root: Root, errors: readonly ErrorObject[], manner: Manner) => {
  let hasCast = false
  for (const error of errors) {
    const cast = castOf(error, manner)
    if (cast === undefined) continue
    setAt(root, segmentsOf(error), cast)
    hasCast = true
  }
  return hasCast
}

const judge = (root: Root, validate: ValidateFunction, manner: Manner) => {
  for (let round = 0; ; round += 1) {
    if (validate(root.data)) return []
    const errors = validate.errors ?? []
    if (round === castRounds || !castTexts(root, errors, manner)) return errors
  }
}

const report = (copied: JsonCopy, errors: readonly ErrorObject[]) => {
  const found = createProblemReport(copied.flawedKeys)
  for (const flaw of copied.flaws) found.addFlaw(flaw)
  for (const error of errors) found.addError(error)
  return found
}

/** The schema is compiled at its first use. */
export const createValidation = <S extends TSchema>(schema: S): Validation<Static<S>> => {
  const judged = once(() => withTextRules(schema) as AnySchema)
  const judgeAll = once(() => exhaustive().compile(judged()))
  const judgeHastily = once(() => hasty().compile(judged()))
  return (data, manner = 'lenient', handover = 'lent') => {
    const copied = taken(data, handover)
    const isHasty = copied.values > manyValues
    const root: Root = { data: copied.copy }
    const errors = judge(root, isHasty ? judgeHastily() : judgeAll(), manner)
    const value = root.data as Static<S>
    if (errors.length === 0 && copied.flaws.length === 0) {
      return { value, problems: {}, sound: value as Partial<Static<S>> }
    }
    const found = report(copied, errors)
    const sound = isHasty ? {} : found.soundPart(value)
    return {
      value,
      problems: found.problems(),
      sound: sound as Partial<Static<S>>,
      places: () => invalidPlaces(errors, copied.flaws),
    }
  }
}
