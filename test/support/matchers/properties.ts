import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { declarationsOf } from '../../../src/areas/assemble.ts'
import { areas } from '../../../src/areas/index.ts'
import { allRoutes } from '../../../src/commands/openapi.ts'

// The properties of requests and settings documents, and their descriptions on the reviewed page.

interface Shape {
  title?: string
  description?: string
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
  anyOf?: Shape[]
}

const root = join(import.meta.dirname, '../../..')

/** Shapes below one, with their path below its path. `*` is any name, `[]` each item. */
const below = (shape: Shape): [string, Shape][] => [
  ...Object.values(shape.patternProperties ?? {}).map((inner): [string, Shape] => ['.*', inner]),
  ...(typeof shape.additionalProperties === 'object'
    ? [['.*', shape.additionalProperties] as [string, Shape]]
    : []),
  ...(shape.items ? [['[]', shape.items] as [string, Shape]] : []),
  ...(shape.anyOf ?? []).map((inner): [string, Shape] => ['', inner]),
]

const createWalk = () => {
  // A shape in several places is described at the first one.
  const told = new Set<string>()
  const walk = (place: string, shape: Shape): Property[] => {
    const own = Object.entries(shape.properties ?? {})
    const text = JSON.stringify(shape.properties)
    const isTold = own.length > 0 && told.has(text)
    if (own.length > 0) told.add(text)
    const paths = (isTold ? [] : own).flatMap(([key, inner]) => {
      const path = place === '' ? key : `${place}.${key}`
      return [{ path, description: inner.description }, ...walk(path, inner)]
    })
    return [...paths, ...below(shape).flatMap(([step, inner]) => walk(`${place}${step}`, inner))]
  }
  return walk
}

/** A property, and what its schema says of it. */
interface Property {
  path: string
  description: string | undefined
}

/** All properties by the section that describes them, in the order of the routes and documents. */
export const propertiesOfAll = (): Map<string, Property[]> => {
  const walk = createWalk()
  const bodies = allRoutes().flatMap(({ method, path, spec: { body } }): [string, Shape][] =>
    body ? [[(body as Shape).title ?? `${method} ${path}`, body as Shape]] : [],
  )
  const documents = Object.entries(declarationsOf(areas).settings).map(
    ([name, document]): [string, Shape] => [`system_configs/${name}`, document as Shape],
  )
  const all = new Map<string, Property[]>()
  for (const [section, shape] of [...bodies, ...documents]) {
    const properties = walk('', shape)
    if (properties.length > 0) all.set(section, [...(all.get(section) ?? []), ...properties])
  }
  return all
}

/** A line of the page: the code that obeys these properties (none: they are only stored), and their effect. */
export interface Entry {
  section: string
  paths: string[]
  readers: string[]
  effect: string
}

const listIn = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

/** `a.{b, c}` stands for `a.b` and `a.c`. */
const expanded = (text: string): string[] => {
  const [whole, before = '', inside = '', after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(text) ?? []
  return whole === undefined ? [text] : listIn(inside).flatMap((one) => expanded(`${before}${one}${after}`))
}

const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim())

const entryIn = (section: string, line: string): Entry => {
  const [properties = '', readers = '', effect = ''] = cellsOf(line)
  const paths = [...properties.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => expanded(text))
  return { section, paths, readers: readers === 'kept' ? [] : listIn(readers), effect }
}

/** The entries of the page, by its tables. */
export const entriesIn = (page: string): Entry[] => {
  let section = ''
  return page.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) section = line.slice('## '.length)
    return /^\| *`/.test(line) ? [entryIn(section, line)] : []
  })
}

const isDeclaration = (path: string) => /^settings\/|(?:^|\/)(?:settings|schema)\.ts$|shapes\.ts$/.test(path)

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"])\/\/.*/g, '')

const sources = new Map(
  globSync('**/*.ts', { cwd: join(root, 'src') })
    .filter((path) => !isDeclaration(path))
    .map((path) => [path, withoutComments(readFileSync(join(root, 'src', path), 'utf8'))]),
)

const mentions = (file: string, name: string) =>
  new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(sources.get(file) ?? '')

const nameOf = (path: string) => path.split('.').at(-1)?.replaceAll('[]', '') ?? path

/** What of an entry the sources contradict. */
export const contradictionsOf = ({ section, paths, readers }: Entry): string[] => {
  if (readers.length === 0) return []
  const missing = readers.filter((file) => !sources.has(file)).map((file) => `there is no src/${file}`)
  const idle = readers
    .filter((file) => sources.has(file) && !paths.some((path) => mentions(file, nameOf(path))))
    .map((file) => `src/${file} mentions none of ${paths.join(', ')}`)
  const unread = paths
    .filter((path) => !readers.some((file) => mentions(file, nameOf(path))))
    .map((path) => `none of ${readers.join(', ')} mentions ${nameOf(path)}`)
  return [...missing, ...idle, ...unread].map((text) => `${section}: ${text}`)
}

/** The readers of a property that the page does not have yet: files that mention it, in the folder of an area of that name. */
const readersOf = (section: string, path: string) => {
  const resource = resourceOf.get(section)?.replaceAll('_', '-')
  const ofArea = [...sources.keys()].filter((file) => file.split('/').includes(resource ?? ''))
  return ofArea.filter((file) => mentions(file, nameOf(path))).sort()
}

/** By section, the last word of the paths of its bodies that is not a variable: `conferences`. */
const resourceOf = new Map(
  allRoutes().flatMap(({ method, path, spec: { body } }): [string, string][] =>
    body
      ? [
          [
            (body as Shape).title ?? `${method} ${path}`,
            path
              .replace(/\/\{\w+\}$/, '')
              .split('/')
              .at(-1) ?? '',
          ],
        ]
      : [],
  ),
)

const newRow = (section: string, { path, description = 'stored for clients' }: Property) => {
  const readers = readersOf(section, path).join(', ') || 'kept'
  return `| \`${path}\` | ${readers} | ${description.replaceAll('|', '\\|')} |`
}

const isRow = (line: string) => /^\| *`/.test(line)
const heading = ['| Property | Obeyed in | What comes of it |', '|---|---|---|']

/**
 * The page: the reviewed rows of properties that are there, and rows made of the schemas for those that it does not have
 * yet. A row without any property that is there is left out, also a whole section.
 */
export const propertiesPage = (committed: string) => {
  const [opening = '', ...parts] = committed.split(/^## /m)
  const reviewed = new Map(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.trimEnd().split('\n')]),
  )
  const sections = Array.from(propertiesOfAll(), ([section, properties]) => {
    const lines = reviewed.get(section) ?? [section, '', ...heading]
    const known = new Set(properties.map(({ path }) => path))
    const kept = lines.filter(
      (line) => !isRow(line) || entryIn(section, line).paths.some((path) => known.has(path)),
    )
    const told = new Set(kept.filter(isRow).flatMap((line) => entryIn(section, line).paths))
    const added = properties
      .filter(({ path }) => !told.has(path))
      .map((property) => newRow(section, property))
    return `## ${[...kept, ...added].join('\n')}\n`
  })
  return [`${opening.trimEnd()}\n`, ...sections].join('\n')
}
