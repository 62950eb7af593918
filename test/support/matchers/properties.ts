import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { declarationsOf } from '../../../src/areas/assemble.ts'
import { areas } from '../../../src/areas/index.ts'
import { allRoutes } from '../../../src/commands/openapi.ts'

// What the properties of requests and settings documents are, and what the reviewed page says of them.

interface Shape {
  title?: string
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
  anyOf?: Shape[]
}

const root = join(import.meta.dirname, '../../..')

/** Shapes below one: where they stand behind its path. `*` is any name, `[]` each item. */
const below = (shape: Shape): [string, Shape][] => [
  ...Object.values(shape.patternProperties ?? {}).map((inner): [string, Shape] => ['.*', inner]),
  ...(typeof shape.additionalProperties === 'object'
    ? [['.*', shape.additionalProperties] as [string, Shape]]
    : []),
  ...(shape.items ? [['[]', shape.items] as [string, Shape]] : []),
  ...(shape.anyOf ?? []).map((inner): [string, Shape] => ['', inner]),
]

const createWalk = () => {
  // A shape that stands in several places is told at the first one.
  const told = new Set<string>()
  const walk = (place: string, shape: Shape): string[] => {
    const own = Object.entries(shape.properties ?? {})
    const text = JSON.stringify(shape.properties)
    const isTold = own.length > 0 && told.has(text)
    if (own.length > 0) told.add(text)
    const paths = (isTold ? [] : own).flatMap(([key, inner]) => {
      const path = place === '' ? key : `${place}.${key}`
      return [path, ...walk(path, inner)]
    })
    return [...paths, ...below(shape).flatMap(([step, inner]) => walk(`${place}${step}`, inner))]
  }
  return walk
}

/** The paths of all properties by the section that tells of them, in the order of the routes and documents. */
export const propertiesOfAll = (): Map<string, string[]> => {
  const walk = createWalk()
  const bodies = allRoutes().flatMap(({ method, path, spec: { body } }): [string, Shape][] =>
    body ? [[(body as Shape).title ?? `${method} ${path}`, body as Shape]] : [],
  )
  const documents = Object.entries(declarationsOf(areas).settings).map(
    ([name, document]): [string, Shape] => [`system_configs/${name}`, document as Shape],
  )
  const all = new Map<string, string[]>()
  for (const [section, shape] of [...bodies, ...documents]) {
    const paths = walk('', shape)
    if (paths.length > 0) all.set(section, [...(all.get(section) ?? []), ...paths])
  }
  return all
}

/** A line of the page: who obeys these properties (nobody: they are kept), and what comes of it. */
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
