import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertThere, createRowRoom, type LaidRow, laidValues } from '../../src/storage/laid-rows.ts'
import { createPosting } from '../../src/storage/posted-writes.ts'

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

  it('may be of any length and number, also in a room that is used again and one that was closed', () => {
    const room = createRowRoom(columns)
    const long = ['x', 'ü'.repeat(900_000), 'y'].map((a) => ({ a, b: 1, c: null, d: a }))
    // More blocks than a room keeps.
    const many = Array.from({ length: 8000 }, (_, n) => ({
      a: `${n}`,
      b: n,
      c: null,
      d: 'ö'.repeat(n % 1500),
    }))
    for (const rows of [long, many, [...many.slice(0, 2000), ...long], many]) {
      const laid = rows.map((one) => room.lay(one) as LaidRow)
      expect(laid.map((one) => laidValues(one, columns.length))).toEqual(rows.map(valuesOf))
      if (rows === long) room.close()
      else room.clear()
    }
  })

  it('cannot be asked for, nor sent, once their room was cleared or closed', () => {
    const room = createRowRoom(columns)
    const lay = () => room.lay({ a: 'a', b: 1, c: null, d: 'd' }) as LaidRow
    const isGone = 'a row is asked for whose room has been cleared'
    const isRefused = (row: LaidRow) => {
      const posting = createPosting()
      posting.begin()
      posting.beginWrite()
      expect(() => assertThere(row)).toThrow(isGone)
      expect(() => posting.addLaid(0, row, 1)).toThrow(isGone)
    }
    const before = lay()
    assertThere(before)
    room.clear()
    const after = lay()
    isRefused(before)
    assertThere(after)
    room.close()
    isRefused(after)
  })
})
