// The page of events names every type that the source tells of.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { happeningTypes } from '../src/lib/happening-types.ts'
import { recordKinds } from '../src/lib/record-kinds.ts'

const root = new URL('..', import.meta.url)
const page = readFileSync(new URL('docs/reference/events.md', root), 'utf8')
const [, happenings = '', changes = ''] = page.split(/^## /m)

const namesIn = (cell: string) => [...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name = '']) => name)

/** The names in the first cell of each row of a table. */
const firstCells = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => namesIn(line.split('|')[1] ?? ''))

// How kinds of records are named where they are stored or told.
const kindForms = [
  /createAttachment<[^(]*>\(\s*store,\s*'([a-z_]+)'/g,
  /createFiles\(store, '([a-z_]+)'/g,
  /\bkind<[^(]*>\('([a-z_]+)'\)/g,
  /createCollection(?:<[^(]*>)?\(\s*(?:store|base),\s*\{\s*kind: '([a-z_]+)'/g,
  /CollectionDefinition<[^=]*> = \{\s*kind: '([a-z_]+)'/g,
  /record\(\{[^}]*?\bkind: '([a-z_]+)'/g,
  /const (?:template|plan|services|accountConfig|passwordReset|secondFactor|userPhoto|order|request|number)Kind = '([a-z_]+)'/g,
]

const kindsInSource = () => {
  const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((path) => path.endsWith('.ts'))
  const texts = sources.map((path) => readFileSync(new URL(`src/${path}`, root), 'utf8'))
  const found = texts.flatMap((text) =>
    kindForms.flatMap((form) => [...text.matchAll(form)].map(([, kind = '']) => kind)),
  )
  // Whatever can be searched for has the type of something.
  return new Set(found.filter((kind) => kind !== 'any'))
}

it('events with words of their own are all on the page, and nothing else is', () => {
  expect(firstCells(happenings).toSorted()).toEqual([...happeningTypes].toSorted())
})

it('kinds of records that change are all on the page, and nothing else is', () => {
  expect(firstCells(changes).toSorted()).toEqual([...recordKinds].toSorted())
})

it('kinds of records that change are all known as types of events', () => {
  const known: ReadonlySet<string> = new Set(recordKinds)
  expect([...kindsInSource()].filter((kind) => !known.has(kind)).toSorted()).toEqual([])
})
