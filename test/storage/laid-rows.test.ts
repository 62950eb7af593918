import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRowRoom, type LaidRow, laidValues } from '../../src/storage/laid-rows.ts'

const columns = ['a', 'b', 'c', 'd']

const cell = fc.oneof(
  fc.constant(null),
  fc.double({ noNaN: true }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'binary', minLength: 1000, maxLength: 2000 }),
  // Any code units: halves of surrogate pairs among them.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
)

const row = fc.record(Object.fromEntries(columns.map((name) => [name, cell])), { requiredKeys: [] })

const valuesOf = (one: Record<string, unknown>) => columns.map((name) => one[name] ?? null)

const isWellFormed = (one: Record<string, unknown>) =>
  valuesOf(one)
    .filter((value) => typeof value === 'string')
    .join('')
    .isWellFormed()

describe('Rows that are laid down', () => {
  it('are what they were, however many there are, and each time that the room is used again', () =>
    fc.assert(
      fc.property(fc.array(fc.array(row, { maxLength: 80 }), { minLength: 1, maxLength: 3 }), (batches) => {
        const room = createRowRoom(columns)
        for (const rows of batches) {
          const laid = rows.map((one) => room.lay(one as Record<string, string | number | null>))
          expect(laid.map((one) => one !== undefined)).toEqual(rows.map(isWellFormed))
          const lying = laid.filter((one): one is LaidRow => one !== undefined)
          expect(lying.map((one) => laidValues(one, columns.length))).toEqual(
            rows.filter(isWellFormed).map(valuesOf),
          )
          room.clear()
        }
        room.close()
      }),
    ))

  it('may be of any length', () => {
    const room = createRowRoom(columns)
    const rows = ['x', 'ü'.repeat(900_000), 'y'].map((a) => ({ a, b: 1, c: null, d: a }))
    const laid = rows.map((one) => room.lay(one) as LaidRow)
    expect(laid.map((one) => laidValues(one, columns.length))).toEqual(rows.map(valuesOf))
  })
})
