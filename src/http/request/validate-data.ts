import type { Static, TSchema } from 'typebox'
import { restrictedClasses, restrictionKey, withoutClasses } from '../../lib/call-restriction.ts'
import { hasProblems, invalid, joinProblems, type Problems } from '../../lib/failure.ts'
import { type Handover, isObject } from '../../lib/json.ts'
import { dropNulls, dropPrivateKeys, mergePatch } from '../../lib/json-merge.ts'
import { withoutEmptySecrets, withStoredUrls } from '../../lib/secrets.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import type { Settings } from '../../settings/settings.ts'
import { requestWarnings, type Warning, warningsAt } from '../../settings/unknown-keys.ts'
import type { RequestContext } from '../exchange.ts'
import type { Call, Route } from '../route.ts'
import { createValidation, type Manner, type Validation } from './validation.ts'

const validations = new WeakMap<TSchema, Validation<unknown>>()

const validationOf = <S extends TSchema>(schema: S) => {
  const known = validations.get(schema) ?? createValidation(schema)
  validations.set(schema, known)
  return known as Validation<Static<S>>
}

const mannerOf = (crossbar: SettingsOf<typeof crossbarSettings>): Manner =>
  crossbar.schema_strict_validation ? 'strict' : 'lenient'

/** For areas that learn their schema from the request. */
export const createValidate =
  (settings: Settings) =>
  async <S extends TSchema>(schema: S, data: unknown, handover?: Handover) =>
    validationOf(schema)(data, mannerOf(await settings.of(crossbarSettings)), handover)

/** For imported records, which may be older than a strict setting. */
export const validateLeniently = async <S extends TSchema>(schema: S, data: unknown, handover?: Handover) =>
  validationOf(schema)(data, 'lenient', handover)

const consent = ['accept_charges', 'quote_id']

/** Browser consoles send it with every write. It is stored if the schema allows it. */
const mark = 'ui_metadata'

const hasRoom = (body: TSchema) => !('additionalProperties' in body) || body.additionalProperties === true

const unstoredKeys = ({ wishes, body }: Pick<Route['spec'], 'wishes' | 'body'>) => [
  ...consent,
  ...Object.keys(wishes ?? {}),
  ...(body && !hasRoom(body) ? [mark] : []),
]

/** Without consent and request options, which are not part of the record. */
export const withoutUnstored = (data: object, spec: Pick<Route['spec'], 'wishes' | 'body'>) => {
  const unstored = unstoredKeys(spec)
  if (!unstored.some((key) => Object.hasOwn(data, key))) return data
  return Object.fromEntries(Object.entries(data).filter(([key]) => !unstored.includes(key)))
}

const docOf = (subject: unknown) =>
  typeof subject === 'object' && subject !== null && 'doc' in subject ? subject.doc : undefined

const writtenIn = (sent: object, { spec }: Route) => {
  const data = dropPrivateKeys(withoutUnstored(sent, spec))
  return spec.body && isObject(data) ? withoutEmptySecrets(spec.body, data) : data
}

/** The body as it would be stored: a PATCH is merged into the record. */
export const proposed = (exchange: RequestContext, route: Route, subject: unknown) => {
  const sent = exchange.body.data ?? {}
  const data = Array.isArray(sent) ? sent : writtenIn(sent, route)
  const before = docOf(subject)
  const whole =
    route.method === 'PATCH' && before && !Array.isArray(data) ? mergePatch(before, data) : dropNulls(data)
  return isObject(whole) && isObject(before) ? withStoredUrls(whole, before) : whole
}

const topKeyOf = (path: string) => path.split('.', 1)[0]

/** Problems of keys that passed the schema. Rules did not see the values of the others. */
const aboutOthers = (further: Problems, found: Problems): Problems => {
  const failing = new Set(Object.keys(found).map(topKeyOf))
  return Object.fromEntries(Object.entries(further).filter(([path]) => !failing.has(topKeyOf(path))))
}

const expectedKeys = new Set(['id', mark])

/** Sent keys that neither schema nor response knows. */
const warningsAbout = (schema: TSchema, exchange: RequestContext, route: Route): Warning[] => {
  const { data } = exchange.body
  const written = isObject(data) ? writtenIn(data, route) : undefined
  if (!isObject(written)) return []
  const own = Object.fromEntries(Object.entries(written).filter(([key]) => !expectedKeys.has(key)))
  return requestWarnings(schema, route.spec.answers, own)
}

const unknownClass = 'No class of numbers has this name: the key was dropped'

const hasRestrictions = ({ spec: { body } }: Route) =>
  isObject(body) && isObject(body.properties) && Object.hasOwn(body.properties, restrictionKey)

/** The data for the schema. Adds warnings about what it drops. */
const preparedFor = async (exchange: RequestContext, route: Route, call: Call) => {
  // A write that lost a race is validated again.
  exchange.warnings = []
  const whole = proposed(exchange, route, call.subject)
  const prepared = route.spec.prepare && isObject(whole) ? route.spec.prepare(whole) : whole
  const sent = restrictedClasses(exchange.body.data)
  if (!isObject(prepared) || sent.length === 0 || !hasRestrictions(route)) return prepared
  const classes = await exchange.frame.numberClasses()
  const unknown = sent.filter((name) => !Object.hasOwn(classes, name))
  exchange.warnings = warningsAt(
    unknown.map((name) => [restrictionKey, name]),
    unknownClass,
  )
  return withoutClasses(prepared, unknown)
}

/** Validates the body by schema and rules; all problems are in one 400. */
export const validateData = async (schema: TSchema, exchange: RequestContext, route: Route, call: Call) => {
  const prepared = await preparedFor(exchange, route, call)
  const { value, problems, sound } = validationOf(schema)(prepared, mannerOf(exchange.crossbar))
  if (!hasProblems(problems)) {
    const found = route.judge ? await route.judge({ ...call, data: value, isSound: true }) : {}
    if (hasProblems(found)) throw invalid(found)
    const further = route.warns ? await route.warns({ ...call, data: value }) : []
    exchange.warnings = [...exchange.warnings, ...warningsAbout(schema, exchange, route), ...further]
    return value
  }
  const further = route.judge ? await route.judge({ ...call, data: sound, isSound: false }) : {}
  throw invalid(joinProblems(aboutOthers(further, problems), problems))
}
