import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CdrRow, storedColumns } from '../../src/areas/calls/cdrs/columns.ts'
import { documentOf, rowTextOf } from '../../src/areas/calls/cdrs/rules.ts'
import { columnsFor } from '../../src/areas/calls/cdrs/sheet/columns.ts'

const view = { utcOffset: 0, forReseller: true, omitsEmpty: false }
const columns: readonly string[] = columnsFor(true)

const legWith = (rest: object | undefined): CdrRow => ({
  ...(Object.fromEntries(storedColumns.map((name) => [name, null])) as unknown as CdrRow),
  account_id: 'a'.repeat(32),
  id: '202602-leg',
  created: 63_937_900_800,
  interaction_time: 63_937_900_800,
  interaction_key: 'key',
  owner_id: 'b'.repeat(32),
  cost: 0,
  reseller_cost: 0,
  rest: rest === undefined ? null : JSON.stringify(rest),
})

const names = fc.constantFrom(
  'app_name',
  'custom_channel_vars',
  'pvt_cost',
  '_rev',
  'direction',
  'local_sdp',
  'a b',
)
const values = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, fc.string(), fc.integer(), fc.boolean(), tie('object')),
  object: fc.dictionary(names, tie('value'), { maxKeys: 4 }),
})).object as fc.Arbitrary<Record<string, unknown>>

test('a row has every field of the document but private ones and those that are columns', () => {
  fc.assert(
    fc.property(values, fc.option(values), (others, vars) => {
      const { custom_channel_vars: _, ...top } = others
      const leg = legWith(vars === null ? top : { ...top, custom_channel_vars: vars })
      const row = JSON.parse(rowTextOf(leg, view)) as Record<string, unknown>
      const shown = Object.entries(documentOf(leg)).filter(([name]) => !columns.includes(name))
      const beside = Object.entries(row).filter(([name]) => !columns.includes(name))
      expect(Object.fromEntries(beside)).toEqual(Object.fromEntries(shown))
      expect(Object.keys(row)).toEqual(expect.arrayContaining([...columns]))
    }),
    { numRuns: 2000 },
  )
})
