import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Value } from '../../src/storage/db.ts'
import { createRowRoom, type LaidRow } from '../../src/storage/laid-rows.ts'
import {
  createPosting,
  type PostedStatement,
  placedText,
  readPosted,
} from '../../src/storage/posted-writes.ts'
import { countOf } from '../support/run-length.ts'

const value: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.constantFrom('same', '', 'ü'),
  fc.string(),
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.uint8Array(),
)

const statement: fc.Arbitrary<PostedStatement> = fc.record({
  text: fc.constantFrom(placedText, 0, 1, 2),
  params: fc.array(value, { maxLength: 6 }),
  rows: fc.constantFrom(undefined, 0, 1),
})

/** A row that lies in a room already, of columns that are numbered. */
const laidStatement: fc.Arbitrary<PostedStatement & { isLaid: true }> = fc.record({
  text: fc.constantFrom(0, 1, 2),
  params: fc.array(
    fc.oneof(
      fc.constant(null),
      fc.constantFrom('', 'a', 'ab', 'abc', 'ü'),
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true }),
    ),
    { maxLength: 6 },
  ),
  rows: fc.constantFrom(undefined, 0, 1),
  isLaid: fc.constant(true),
})

const isLaid = (one: PostedStatement) => 'isLaid' in one

const layDown = (params: readonly Value[]) => {
  const room = createRowRoom(Object.keys(params))
  return room.lay({ ...params } as unknown as Record<string, string | number | null>) as LaidRow
}

const posted = (writes: readonly (readonly PostedStatement[])[], posting = createPosting()) => {
  for (const statements of writes) {
    posting.beginWrite()
    for (const one of statements) {
      if (isLaid(one)) posting.addLaid(one.text, layDown(one.params), one.rows)
      else posting.add(one.text, one.params, one.rows)
    }
  }
  return readPosted(structuredClone(posting.take()))
}

describe('writes on their way to another thread', () => {
  it('arrive as they were, each by itself, and as often as they are asked for', () => {
    fc.assert(
      fc.property(fc.array(fc.array(statement, { maxLength: 5 }), { maxLength: 5 }), (writes) => {
        const arrived = posted(writes)
        // From behind: none needs those before it.
        for (const [index, write] of [...arrived.entries()].reverse()) {
          expect(write.length).toBe(writes[index]?.length)
          expect([...write.statements()]).toEqual(writes[index])
        }
        expect(arrived.map((write) => [...write.statements()])).toEqual(writes)
      }),
    )
  })

  it('arrive beside rows that were laid down before', () => {
    const any = fc.array(fc.array(fc.oneof(statement, laidStatement), { maxLength: 8 }), { maxLength: 4 })
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 3 }), (batches) => {
        const posting = createPosting()
        for (const writes of batches) {
          const wanted = writes.map((statements) =>
            statements.map(({ text, params, rows }) => ({ text, params, rows })),
          )
          const arrived = posted(writes, posting)
          expect(arrived.map((write) => [...write.statements()])).toEqual(wanted)
          for (const [index, write] of arrived.entries())
            for (const text of [placedText, 0, 1, 2])
              expect(write.hasText(text)).toBe(wanted[index]?.some((one) => one.text === text))
        }
      }),
    )
  })

  it('are nothing to those that are posted behind them, however many there were', () => {
    const posting = createPosting()
    const many = fc.array(fc.array(statement, { maxLength: 5 }), { maxLength: 400 })
    fc.assert(
      fc.property(fc.array(many, { minLength: 2, maxLength: 4 }), fc.boolean(), (batches, isBrokenOff) => {
        for (const writes of batches) {
          if (isBrokenOff) {
            posting.beginWrite()
            posting.add(1, ['left', 1], undefined)
          }
          posting.begin()
          expect(posted(writes, posting).map((write) => [...write.statements()])).toEqual(writes)
        }
      }),
      { numRuns: countOf(10, 30) },
    )
  })

  it('find room for a batch of any size', () => {
    const posting = createPosting()
    const rows = Array.from(
      { length: 300_000 },
      (_, row): PostedStatement => ({ text: 0, params: [row, `${row}`], rows: 1 }),
    )
    const [write] = posted([rows], posting)
    expect([...(write?.statements() ?? [])]).toEqual(rows)
    const few = [{ text: 0, params: ['a', 1], rows: 1 }]
    expect(posted([few], posting).map((one) => [...one.statements()])).toEqual([few])
  })

  it('tell which statements they have', () => {
    const [first, second] = posted([
      [
        { text: 3, params: ['a', 7, null], rows: 1 },
        { text: placedText, params: [], rows: undefined },
      ],
      [{ text: 0, params: [-1, 3], rows: undefined }],
    ])
    expect([3, placedText, 0].map((text) => first?.hasText(text))).toEqual([true, true, false])
    expect([3, placedText, 0].map((text) => second?.hasText(text))).toEqual([false, false, true])
  })

  it('say once what all rows of a write have in common', () => {
    const posting = createPosting()
    posting.beginWrite()
    for (let row = 0; row < 100; row += 1) posting.add(0, ['account', row, null], 1)
    const { numbers, others } = posting.take()
    expect(others).toEqual(['account'])
    expect(numbers).toEqual(Float64Array.from({ length: 100 }, (_, row) => row))
  })
})
