import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { contradictionsOf, entriesIn, propertiesOfAll } from './support/matchers/properties.ts'

const entries = entriesIn(readFileSync(new URL('../docs/reference/properties.md', import.meta.url), 'utf8'))
const known = [...propertiesOfAll()].flatMap(([section, paths]) => paths.map((path) => `${section}: ${path}`))
const told = entries.flatMap(({ section, paths }) => paths.map((path) => `${section}: ${path}`))

describe('the page of what obeys each property', () => {
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

  it('keeps nothing of settings documents that nobody obeys', () => {
    const idle = entries.filter(
      ({ section, readers }) => section.startsWith('system_configs/') && readers.length === 0,
    )
    expect(idle).toEqual([])
  })
})

describe('the check of the page', () => {
  const page = (line: string) =>
    entriesIn(`## Rate\n\n| Property | Obeyed in | Effect |\n|---|---|---|\n${line}`)

  it('reads lists, groups and what is kept', () => {
    expect(page('| `a`, `b.{c, d[].e}` | areas/billing/rates/rules.ts, lib/csv.ts | does it |')).toEqual([
      {
        section: 'Rate',
        paths: ['a', 'b.c', 'b.d[].e'],
        readers: ['areas/billing/rates/rules.ts', 'lib/csv.ts'],
        effect: 'does it',
      },
    ])
    expect(page('| `a` | kept | a switch reads it |')).toEqual([
      { section: 'Rate', paths: ['a'], readers: [], effect: 'a switch reads it' },
    ])
  })

  it('finds readers that are not there, that are idle, and properties that none mentions', () => {
    const contradictions = (line: string) => page(line).flatMap(contradictionsOf)
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
