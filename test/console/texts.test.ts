// The texts of the console, in each of its languages.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const console = join(import.meta.dirname, '..', '..', 'console')

const read = (language: string): unknown =>
  JSON.parse(readFileSync(join(console, 'texts', `${language}.json`), 'utf8'))

/** The keys of all texts, with the places that a text has for values. */
const textsIn = (value: unknown, path = ''): [string, string][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => textsIn(inner, path === '' ? key : `${path}.${key}`))
    : [[path, String(value)]]

const placesIn = (text: string) => [...text.matchAll(/\{\{\w+\}\}/g)].map(([place]) => place).sort()

const english = new Map(textsIn(read('en')))
const german = new Map(textsIn(read('de')))

// Labels of fields come from the schemas, which are English.
const isField = (path: string) => /^(field|choice|help)\./.test(path)

it('are there in German as in English, but for the names of fields', () => {
  const keys = (texts: Map<string, string>) => [...texts.keys()].filter((path) => !isField(path)).sort()
  expect(keys(german)).toEqual(keys(english))
})

it('have the same places for values in both', () => {
  const places = (texts: Map<string, string>) =>
    Object.fromEntries(
      [...english.keys()].map((path) => [path, placesIn(texts.get(path) ?? english.get(path) ?? '')]),
    )
  expect(places(german)).toEqual(places(english))
})

const sourcesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))

it('are there for every key that a screen asks for', () => {
  const isThere = (key: string) => english.has(key) || english.has(`${key}_one`)
  const asked = sourcesBelow(join(console, 'src')).flatMap((source) =>
    [...source.matchAll(/\bt\('([\w.]+)'/g)].map(([, key]) => key ?? ''),
  )
  expect([...new Set(asked)].filter((key) => !isThere(key))).toEqual([])
})
