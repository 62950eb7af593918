import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isCommitted } from './support/matchers/generated.ts'
import {
  contradictionsOf,
  entriesIn,
  propertiesOfAll,
  propertiesPage,
} from './support/matchers/properties.ts'

const committed = readFileSync(new URL('./expected/properties.md', import.meta.url), 'utf8')
const page = propertiesPage(committed)
const entries = entriesIn(page)
const known = [...propertiesOfAll()].flatMap(([section, properties]) =>
  properties.map(({ path }) => `${section}: ${path}`),
)
const told = entries.flatMap(({ section, paths }) => paths.map((path) => `${section}: ${path}`))

describe('the page of what obeys each property', () => {
  it('is committed with rows for all properties (npm run generate writes it)', () => {
    expect(isCommitted('test/expected/properties.md', page)).toBe(true)
  })

  it('has an entry for every property of every request and settings document', () => {
    expect(known.filter((path) => !told.includes(path))).toEqual([])
  })

  it('has no entry without a property, and none twice', () => {
    expect(told.filter((path) => !known.includes(path))).toEqual([])
    expect(told.filter((path, index) => told.indexOf(path) !== index)).toEqual([])
  })

  it('says of each what comes of it, or why it is kept', () => {
    expect(entries.filter(({ effect }) => effect.length < 5)).toEqual([])
  })

  it('names readers that are there and mention the property', () => {
    expect(entries.flatMap(contradictionsOf)).toEqual([])
  })

  it('keeps nothing of settings documents that have no reader', () => {
    const idle = entries.filter(
      ({ section, readers }) => section.startsWith('system_configs/') && readers.length === 0,
    )
    expect(idle).toEqual([])
  })
})

describe('the check of the page', () => {
  const entryOf = (line: string) =>
    entriesIn(`## Rate\n\n| Property | Obeyed in | Effect |\n|---|---|---|\n${line}`)

  it('reads lists, groups and what is kept', () => {
    expect(entryOf('| `a`, `b.{c, d[].e}` | areas/billing/rates/rules.ts, lib/csv.ts | does it |')).toEqual([
      {
        section: 'Rate',
        paths: ['a', 'b.c', 'b.d[].e'],
        readers: ['areas/billing/rates/rules.ts', 'lib/csv.ts'],
        effect: 'does it',
      },
    ])
    expect(entryOf('| `a` | kept | a switch reads it |')).toEqual([
      { section: 'Rate', paths: ['a'], readers: [], effect: 'a switch reads it' },
    ])
  })

  it('finds readers that are not there, that are idle, and properties that none mentions', () => {
    const contradictions = (line: string) => entryOf(line).flatMap(contradictionsOf)
    expect(contradictions('| `weight` | areas/billing/rates/rules.ts | which rate |')).toEqual([])
    expect(contradictions('| `weight` | areas/billing/rates/rools.ts | which rate |')).toEqual([
      'Rate: there is no src/areas/billing/rates/rools.ts',
      'Rate: none of areas/billing/rates/rools.ts mentions weight',
    ])
    expect(
      contradictions('| `weight`, `colour` | areas/billing/rates/rules.ts, lib/csv.ts | which rate |'),
    ).toEqual([
      'Rate: src/lib/csv.ts mentions none of weight, colour',
      'Rate: none of areas/billing/rates/rules.ts, lib/csv.ts mentions colour',
    ])
    expect(contradictions('| `weight` | areas/billing/rates/schema.ts | which rate |')).toHaveLength(2)
  })
})

describe('the writing of the page', () => {
  it('adds rows of new properties from the schemas, keeps reviewed ones, and drops those of properties that are gone', () => {
    const gone = '| `no_such_field` | kept | was there |'
    const without = (name: string) => page.split('\n').filter((line) => !line.startsWith(`| \`${name}\` |`))
    expect(propertiesPage([...page.trimEnd().split('\n'), gone, ''].join('\n'))).toBe(page)
    const lines = propertiesPage(without('lends_bookkeepers_to').join('\n')).split('\n')
    expect(lines).toContain(
      '| `lends_bookkeepers_to` | areas/accounts/accounts/routes.ts | Sub-accounts whose service plans may use the billing providers of this account |',
    )
  })
})
