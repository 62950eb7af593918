import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Value } from '../../src/storage/db.ts'
import { createRowRoom, type LaidRow } from '../../src/storage/laid-rows.ts'
import { arrayOf, arrayTypes, columnArrays, type ElementType } from '../../src/storage/postgres-arrays.ts'
import { openTestDatabase, type TestDatabase } from '../support/databases.ts'
import { engines } from '../support/postgres.ts'
import { countOf } from '../support/run-length.ts'

const columns = ['number', 'name', 'count', 'note']
const types: readonly ElementType[] = ['integer', 'text', 'integer', 'text']

const whole = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer(),
  // What a number stands for beyond those that it counts one by one.
  fc.double({ min: -(2 ** 63), max: 2 ** 63, maxExcluded: true, noNaN: true }).map(Math.trunc),
  fc.constantFrom(-0, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 53 + 2, -(2 ** 63)),
)
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme-ascii', minLength: 20, maxLength: 3000 }),
)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: value }, fc.constant(null))

/** What PostgreSQL can hold: no NUL, and no half of a surrogate pair. */
const storable = text.map((value) => value.replaceAll('\0', '').toWellFormed())

const row = fc.record({
  number: orNull(whole),
  name: orNull(storable),
  count: orNull(whole),
  note: orNull(storable),
})

const plainly = (value: Value) => (Object.is(value, -0) ? 0 : value)

describe.runIf(engines.includes('postgres'))('Arrays in the binary form of PostgreSQL', () => {
  let opened: TestDatabase

  beforeAll(async () => {
    opened = await openTestDatabase('postgres')
  })

  afterAll(() => opened.close())

  const arrive = async (params: readonly unknown[]) => {
    const lists = types.map((type, index) => `$${index + 1}::${arrayTypes[type]}`)
    const rows = await opened.db.all(
      `SELECT * FROM unnest(${lists.join(', ')}) AS arrived (${columns.join(', ')})`,
      params as Value[],
    )
    return rows.map((arrived) => columns.map((name) => arrived[name]))
  }

  it('arrive as they were, of rows that are values and of rows that were laid down', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(row, fc.boolean()), { maxLength: 60 }), async (rows) => {
        const room = createRowRoom(columns)
        const given = rows.map(([one, isLaid]) => (isLaid ? room.lay(one) : undefined) ?? Object.values(one))
        const arrays = columnArrays(types, given)
        room.close()
        const expected = rows.map(([one]) => Object.values(one).map(plainly))
        expect(await arrive(arrays)).toEqual(expected)
        const each = types.map((type, column) =>
          arrayOf(
            type,
            rows.map(([one]) => Object.values(one)[column] ?? null),
          ),
        )
        expect(each.every(Buffer.isBuffer)).toBe(true)
        expect(await arrive(each)).toEqual(expected)
      }),
      { numRuns: countOf(20, 60) },
    ))

  it('hold numbers as text where a column is of text', async () => {
    const room = createRowRoom(columns)
    const one = { number: 1, name: 2, count: 3, note: 4.5 }
    for (const given of [room.lay(one) as LaidRow, Object.values(one)])
      expect(await arrive(columnArrays(types, [given]))).toEqual([[1, '2', 3, '4.5']])
  })

  it.each<[string, Value]>([
    ['a text', '1'],
    ['a text with letters beyond ASCII', 'ü'],
    ['a fraction', 1.5],
    ['a number that is larger than they are', 2 ** 63],
    ['a number that is smaller than they are', -(2 ** 63) - 2048],
    ['not a number', Number.NaN],
  ])('do not hold %s where a column is of whole numbers', (_what, value) => {
    const room = createRowRoom(columns)
    const laid = room.lay({ number: 1, name: 'a', count: value as string | number, note: null }) as LaidRow
    expect(() => columnArrays(types, [[1, 'a', value, null]])).toThrow('column 2 is of type integer')
    expect(() => columnArrays(types, [laid])).toThrow('column 2 is of type integer')
    expect(arrayOf('integer', [1, value])).toEqual([1, value])
  })

  it('do not hold bytes: these stay as they are, and the server judges them', () => {
    const values = ['a', new Uint8Array(1)]
    expect(arrayOf('text', values)).toBe(values)
  })

  it('are not made of rows whose room was cleared', () => {
    const room = createRowRoom(columns)
    const laid = room.lay({ number: 1, name: 'a', count: 2, note: 'b' }) as LaidRow
    room.clear()
    expect(() => columnArrays(types, [laid])).toThrow('whose room has been cleared')
  })
})
