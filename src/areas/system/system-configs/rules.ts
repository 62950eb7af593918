import { parseNetwork } from '../../../lib/cidr.ts'
import type { Problems } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import { pictureIn } from '../../../lib/picture.ts'
import { pathKey } from '../../../lib/property-path.ts'
import { isTimezone } from '../../../lib/timezones.ts'
import { moduleProblems } from '../../../settings/auth-modules.ts'
import { isSettingsName, mergeSections, withoutDefaults } from '../../../settings/sections.ts'
import type { SettingsDoc } from '../../../settings/settings.ts'

export const sectionIn = (doc: SettingsDoc, section: string): Json | undefined =>
  Object.hasOwn(doc, section) ? doc[section] : undefined

/** Defaults of the schema, and for a node the default section. */
const belowSection = (doc: SettingsDoc, section: string, defaults: Json) =>
  section === 'default' ? defaults : mergeSections(defaults, sectionIn(doc, 'default'))

export const effectiveSection = (doc: SettingsDoc, section: string, defaults: Json) =>
  mergeSections(belowSection(doc, section, defaults), sectionIn(doc, section))

/** Only differences are stored, so that new defaults reach old stores. */
export const storedHalf = (doc: SettingsDoc, defaults: Json): SettingsDoc =>
  Object.fromEntries(
    Object.entries(doc).map(([section, values]) => [
      section,
      withoutDefaults(values, belowSection(doc, section, defaults)),
    ]),
  )

/** The schema of a document with sections of this schema. */
export const documentShape = (section: object | undefined) =>
  section && { type: 'object', additionalProperties: section }

/** The schema without required keys and defaults. */
export const partialOf = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(partialOf)
  if (!isObject(schema)) return schema
  const partial: Json = {}
  for (const [key, inner] of Object.entries(schema)) {
    if (key === 'required' || key === 'default') continue
    partial[key] =
      key === 'properties' && isObject(inner)
        ? Object.fromEntries(Object.entries(inner).map(([property, node]) => [property, partialOf(node)]))
        : partialOf(inner)
  }
  return partial
}

export const underPath = (path: string, problems: Problems): Problems =>
  Object.fromEntries(
    Object.entries(problems).map(([inner, rules]) => [inner === 'data' ? path : `${path}.${inner}`, rules]),
  )

export const sectionPath = (section: string) => pathKey(section.slice(0, 200))

const proxyProblems = (proxies: unknown): Problems => {
  const message = 'Must be an IP address or a CIDR'
  const problems: Problems = {}
  for (const [index, proxy] of (Array.isArray(proxies) ? proxies : []).entries())
    if (typeof proxy === 'string' && !parseNetwork(proxy))
      problems[`reverse_proxies.${index}`] = { wrong_format: { message, value: proxy.slice(0, 100) } }
  return problems
}

// {account}.{endpoint}.{METHOD}.{quickcall} is the deepest path that is looked up.
const deepestCost = 4

const methods: ReadonlySet<string> = new Set(['GET', 'PUT', 'POST', 'PATCH', 'DELETE'])

/** Methods are looked up in capitals. */
const isMethodInSmall = (key: string) => methods.has(key.toUpperCase()) && !methods.has(key)

const costProblems = (costs: Json, path: string, depth = 1): Problems => {
  const problems: Problems = {}
  for (const [key, cost] of Object.entries(costs)) {
    const place = `${path}.${pathKey(key)}`
    if (isMethodInSmall(key))
      problems[place] = {
        invalid: { message: `Methods must be upper case: ${key.toUpperCase()}`, value: key },
      }
    else if (isObject(cost) && depth < deepestCost)
      Object.assign(problems, costProblems(cost, place, depth + 1))
    else if (!Number.isInteger(cost))
      problems[place] = { type: { message: 'Value did not match type(s): integer', target: 'integer' } }
  }
  return problems
}

const invalidValue = (path: string, message: string, value: unknown): Problems => ({
  [path]: { invalid: { message, value } },
})

/** The environment sets the plain listener. */
const listenerProblems = ({ use_plaintext: isPlain, port }: Json): Problems => ({
  ...(isPlain === false
    ? invalidValue(
        'use_plaintext',
        'Plain HTTP cannot be disabled. To restrict it to this machine, start the server with CROSSPOINT_HOST=127.0.0.1',
        false,
      )
    : {}),
  ...(port === undefined
    ? {}
    : invalidValue(
        'port',
        'port is read-only. Set the environment variable CROSSPOINT_PORT and restart',
        port,
      )),
})

const crossbarProblems = ({ reverse_proxies: proxies, token_costs: costs, ...listener }: Json): Problems => ({
  ...listenerProblems(listener),
  ...proxyProblems(proxies),
  ...(isObject(costs) ? costProblems(costs, 'token_costs') : {}),
})

const accountProblems = ({ default_timezone: value }: Json): Problems => {
  const message = 'Value not found in enumerated list of values'
  return typeof value !== 'string' || isTimezone(value)
    ? {}
    : { default_timezone: { enum: { message, value } } }
}

const patternProblem = (path: string, cause: unknown): Problems => {
  const problem = typeof cause === 'string' ? compilePattern(cause).problem : undefined
  return problem === undefined ? {} : { [path]: { invalid: { message: `The pattern ${problem}`, cause } } }
}

const patternsUnder = (path: string, value: unknown, patternOf: (key: string, inner: unknown) => unknown) =>
  Object.entries(isObject(value) ? value : {}).map(([key, inner]) =>
    patternProblem(`${path}.${sectionPath(key)}`, patternOf(key, inner)),
  )

const numberProblems = ({ reconcile_regex, e164_converters, classifiers }: Json): Problems =>
  Object.assign(
    patternProblem('reconcile_regex', reconcile_regex),
    ...patternsUnder('e164_converters', e164_converters, (key) => key),
    ...patternsUnder('classifiers', classifiers, (_key, inner) => isObject(inner) && inner.regex),
  )

const isAddress = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text)

const imageProblems = (path: string, image: unknown): Problems => {
  if (typeof image !== 'string' || isAddress(image) || pictureIn(image)) return {}
  const message = 'Must be an address, or a PNG, JPEG, GIF, WebP or ICO as a data URL in base64'
  return invalidValue(path, message, image.slice(0, 100))
}

const appProblems = ({ apps }: Json): Problems =>
  Object.assign(
    {},
    ...Object.entries(isObject(apps) ? apps : {}).flatMap(([id, app]) => {
      const { icon, screenshots } = isObject(app) ? app : {}
      const shots = Array.isArray(screenshots) ? screenshots : []
      return [
        imageProblems(`apps.${id}.icon`, icon),
        ...shots.map((shot, index) => imageProblems(`apps.${id}.screenshots.${index}`, shot)),
      ]
    }),
  )

const checks: Record<string, (section: Json) => Problems> = {
  apps_store: appProblems,
  crossbar: crossbarProblems,
  'crossbar.accounts': accountProblems,
  'crossbar.auth': ({ auth_modules: modules }) => moduleProblems(modules),
  number_manager: numberProblems,
}

/** Rules that the schema cannot express. */
export const sectionProblems = (document: string, section: Json): Problems =>
  Object.hasOwn(checks, document) ? (checks[document] as (section: Json) => Problems)(section) : {}

export const nameProblems = (doc: SettingsDoc): Problems => {
  const message = 'A section is named by up to 128 letters, digits and any of _ . @ : -'
  const wrong = Object.keys(doc).filter((section) => !isSettingsName(section))
  return Object.fromEntries(wrong.map((section) => [sectionPath(section), { invalid: { message } }]))
}
