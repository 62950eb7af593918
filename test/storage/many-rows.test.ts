import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Value } from '../../src/storage/db.ts'
import { type RowShape, unnested } from '../../src/storage/sql-words.ts'
import { countOf } from '../support/run/run-length.ts'
import { openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'

const whole = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer(),
  // Beyond the numbers that a double counts one by one.
  fc.double({ min: -(2 ** 63), max: 2 ** 63, maxExcluded: true, noNaN: true }).map(Math.trunc),
  fc.constantFrom(-0, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 53 + 2, -(2 ** 63)),
)
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', '\n', ' ', 'NULL', 'ü') }),
  fc.string({ unit: 'grapheme-ascii', minLength: 20, maxLength: 3000 }),
)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: value }, fc.constant(null))

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const storable = text.map((value) => value.replaceAll('\0', '').toWellFormed())

const plainly = (value: Value) => (Object.is(value, -0) ? 0 : value)

describe.runIf(engines.includes('postgres'))('The values of a column as a PostgreSQL array', () => {
  let opened: TestDatabase

  beforeAll(async () => {
    opened = await openTestDatabase('postgres')
  })

  afterAll(() => opened.close())

  const arrive = async (type: RowShape[string], values: readonly Value[]) => {
    const { from, params } = unnested(
      { value: type },
      values.map((value) => [value]),
    )
    const rows = await opened.db.all(`SELECT value FROM ${from} AS arrived (value)`, params)
    return rows.map(({ value }) => value)
  }

  it('arrive unchanged', () =>
    fc.assert(
      fc.asyncProperty(fc.array(orNull(whole)), fc.array(orNull(storable)), async (numbers, texts) => {
        expect(await arrive('integer', numbers)).toEqual(numbers.map(plainly))
        expect(await arrive('text', texts)).toEqual(texts)
      }),
      { numRuns: countOf(20, 60) },
    ))

  it('arrive as text where the column is of text', async () => {
    expect(await arrive('text', [1, 4.5, null])).toEqual(['1', '4.5', null])
  })

  it.each<[string, Value]>([
    ['a text', 'ü'],
    ['a fraction', 1.5],
    ['a number above the largest', 2 ** 63],
    ['a number below the smallest', -(2 ** 63) - 2048],
    ['not a number', Number.NaN],
  ])('are refused by a column of whole numbers when one is %s', (_what, value) =>
    expect(arrive('integer', [1, value])).rejects.toMatchObject({
      code: expect.stringMatching(/^22(P02|003)$/),
    }),
  )

  it('cannot be bytes', () => {
    expect(() => unnested({ value: 'text' }, [['a'], [new Uint8Array(1)]])).toThrow(
      'an array holds texts, numbers and nulls',
    )
  })
})
