import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { declarationsOf } from '../../../src/areas/assemble.ts'
import { areas } from '../../../src/areas/index.ts'

// The page of all settings documents, made from the schemas that the server itself follows.

interface Shape {
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
  anyOf?: Shape[]
  'x-unit'?: string
  'x-secret'?: 'masked' | 'readable' | 'url'
}

/** One key of a document, with its path (`features.allow`; `*` is any name). */
export interface SettingsKey {
  path: string
  shape: Shape
}

const root = join(import.meta.dirname, '../../..')
const { settings, accountSettings } = declarationsOf(areas)

export const settingsDocuments = settings as Readonly<Record<string, Shape>>

/** The shape of all values of an object whose keys are data. */
const valuesOf = ({ patternProperties = {}, additionalProperties }: Shape): Shape | undefined =>
  Object.values(patternProperties)[0] ??
  (typeof additionalProperties === 'object' ? additionalProperties : undefined)

const sameKeys = (shapes: readonly Shape[]) =>
  shapes.length > 1 && new Set(shapes.map(({ properties }) => JSON.stringify(properties))).size === 1

// A shape with a title is one of the API's own, which openapi.json describes.
const inside = (path: string, shape: Shape): SettingsKey[] => {
  if (shape.title !== undefined) return []
  const values = valuesOf(shape) ?? shape.items
  if (!shape.properties) return values?.properties ? keysOf(`${path}.*`, values) : []
  return keysOf(path, shape)
}

/** All keys below a place. Properties that several keys share are described once, under `*`. */
const keysOf = (place: string, { properties = {} }: Shape): SettingsKey[] => {
  const below = (key: string) => (place === '' ? key : `${place}.${key}`)
  const entries = Object.entries(properties).map(([key, shape]) => ({ path: below(key), shape }))
  const shapes = entries.map(({ shape }) => shape)
  const first = shapes[0]
  if (first?.properties && sameKeys(shapes)) return [...entries, ...inside(below('*'), first)]
  return entries.flatMap((entry) => [entry, ...inside(entry.path, entry.shape)])
}

/** The keys of a settings document. */
export const keysOfDocument = (name: string) => keysOf('', settingsDocuments[name] as Shape)

const unitSuffixes: [RegExp, string][] = [
  [/_s$/, 'seconds'],
  [/_ms$/, 'milliseconds'],
  [/_(?:d|days)$/, 'days'],
  [/_months$/, 'months'],
]

const isNumeric = ({ type, items }: Shape): boolean =>
  [type].flat().some((one) => one === 'integer' || one === 'number') || (items ? isNumeric(items) : false)

/** Unit of a number: from the schema, or from the end of its name. */
const unitOf = ({ path, shape }: SettingsKey): string => {
  if (shape['x-unit'] !== undefined) return shape['x-unit']
  if (!isNumeric(shape)) return ''
  return unitSuffixes.find(([ending]) => ending.test(path))?.[1] ?? ''
}

/** Missing parts of the description of a key. */
export const gapsOf = (key: SettingsKey): string[] => [
  ...(key.shape.description ? [] : ['a description']),
  ...(isNumeric(key.shape) && unitOf(key) === '' ? ['a unit'] : []),
]

const count = (value: number) => value.toLocaleString('en-US')

const boundsOf = ({ minimum, maximum, minLength, maxLength }: Shape): string => {
  const [least, most, of] =
    minimum === undefined && maximum === undefined
      ? [minLength, maxLength, ' characters']
      : [minimum, maximum, '']
  if (least !== undefined && most !== undefined) return `, ${count(least)} to ${count(most)}${of}`
  if (least !== undefined) return `, at least ${count(least)}${of}`
  return most === undefined ? '' : `, at most ${count(most)}${of}`
}

const typeOf = (shape: Shape): string => {
  if (shape.enum) return shape.enum.map((one) => `\`${one}\``).join(', ')
  if (shape.anyOf) return shape.anyOf.map(typeOf).join(' or ')
  if (shape.items) return `list of: ${typeOf(shape.items)}`
  if (valuesOf(shape) && !shape.properties) return 'object by name'
  const name = [shape.type].flat().join(' or ').replace('string', 'text').replace('boolean', 'true or false')
  const bounds = boundsOf(shape)
  if (name === 'integer' && bounds) return bounds.slice(2)
  return `${shape.format === undefined ? name : `${name} (${shape.format})`}${bounds}`
}

const valueColumn = (key: SettingsKey): string => {
  const type = typeOf(key.shape)
  const unit = unitOf(key)
  if (unit === '') return type
  return `${type}${/\d$/.test(type) ? ' ' : ', '}${unit}`
}

const defaultOf = ({ default: value }: Shape): string => {
  if (value === undefined) return ''
  if (typeof value === 'number') return count(value)
  const text = JSON.stringify(value)
  return text === '{}' ? '' : `\`${text}\``
}

const secrecy = {
  masked: ' Secret: written and never shown.',
  readable: ' Secret: shown to the operator.',
  url: ' A password in it is never shown.',
}

const meaningOf = ({ description = '', 'x-secret': mark }: Shape) =>
  mark ? `${description}.${secrecy[mark]}` : description

const isDeclaration = (path: string) =>
  /(?:^src\/settings\/|\/(?:settings|schema)\.ts$|^src\/lib\/)/.test(path)

const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((path) => !isDeclaration(path))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** Document id -> the names under which code imports it. */
const importedNames = Map.groupBy(
  globSync(['src/settings/documents.ts', 'src/**/settings.ts'], { cwd: root }).flatMap((path) => [
    ...readFileSync(join(root, path), 'utf8').matchAll(/export const (\w+) = settingsDocument\('([^']+)'/g),
  ]),
  ([, , id]) => id,
)

/** The files that follow a key: those that read its document and name it, else all that name it. */
export const readersOf = (document: string, key: string): string[] => {
  const named = new RegExp(`\\b${key}\\b`)
  const naming = sources.filter(({ text }) => named.test(text))
  const names = importedNames.get(document) ?? []
  const asking = naming.filter(({ text }) => names.some(([, name]) => text.includes(`.of(${name})`)))
  return (asking.length > 0 ? asking : naming).map(({ path }) => path)
}

const escaped = (cell: string) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')

const row = (key: SettingsKey) =>
  [`\`${key.path}\``, valueColumn(key), defaultOf(key.shape), meaningOf(key.shape)].map(escaped).join(' | ')

const levelOf = (name: string) => {
  const keys = Object.keys((accountSettings[name] as Shape | undefined)?.properties ?? {})
  if (keys.length === 0) return []
  const list = keys.map((key) => `\`${key}\``).join(', ')
  return [
    `Accounts can set these keys for themselves and their sub-accounts, under \`/configs/${name}\`: ${list}.`,
    '',
  ]
}

const sectionOf = (name: string) => [
  `## ${name}`,
  '',
  `${settingsDocuments[name]?.description}.`,
  '',
  ...levelOf(name),
  '| Key | Value | Default | Meaning |',
  '|---|---|---|---|',
  ...keysOfDocument(name).map((key) => `| ${row(key)} |`),
  '',
]

const opening = `# Settings documents

Generated from the schemas (\`npm run generate\`).

Process settings (environment variables, \`npm run crosspoint -- serve --help\`) are read once, at the start. All other settings are
documents: admins of the master account read and change them under \`/v2/system_configs/{document}\`, and every process applies a change
immediately.

* The section \`default\` of a document applies to every process. A section named after a node (\`crosspoint@HOST\`, as in responses) overrides
  it for that process, key by key.
* \`GET\` fills \`default\` with default values. \`PATCH\` changes the keys it contains, \`POST\` replaces the document. Only values that differ
  from the defaults are stored.
* A value of the wrong type or out of range is rejected with 400 and the key. Unknown keys and documents are stored for clients. The server
  ignores them and lists them in \`metadata.warnings\`. Accounts read such documents under \`/v2/accounts/{account_id}/configs/{name}\`, except
  those in \`hidden_documents\` of \`crossbar.configs\`.
* A range without a type is for integers.
* An empty default means that the key is absent; its meaning says what applies then.
* In \`x.*.y\`, the star stands for any name, or for each of the keys above it.
`

/** The whole page. */
export const settingsPage = () =>
  [opening, ...Object.keys(settingsDocuments).sort().flatMap(sectionOf)].join('\n').trimEnd().concat('\n')
