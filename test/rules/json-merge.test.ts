import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { mergePatch, patchBetween } from '../../src/lib/json-merge.ts'

describe('the patch between two records', () => {
  it('contains what differs, and null for what was removed', () => {
    const from = { name: 'a', same: { deep: [1] }, sip: { user: 'x', method: 'password' }, list: [1, 2] }
    const to = { name: 'b', same: { deep: [1] }, sip: { method: 'password', realm: 'y' }, list: [1] }
    expect(patchBetween(from, to)).toEqual({ name: 'b', sip: { user: null, realm: 'y' }, list: [1] })
  })

  it('makes one record of the other', () => {
    const record = fc.object({
      key: fc.constantFrom('a', 'b', 'toString', '__proto__', ''),
      values: [fc.boolean(), fc.integer(), fc.string(), fc.constant(null)],
      maxDepth: 4,
    })
    fc.assert(
      fc.property(record, record, (some, others) => {
        const [from, to] = [some, others].map((one) => JSON.parse(JSON.stringify(one)) as Json) as [
          Json,
          Json,
        ]
        const patch = patchBetween(from, to)
        if (patch !== undefined) expect(mergePatch(from, patch)).toEqual(to)
      }),
    )
  })

  it('does not exist where an object contains null', () => {
    expect(patchBetween({}, { a: [{ b: null }] })).toBeUndefined()
    expect(patchBetween({ a: null }, { a: [null] })).toEqual({ a: [null] })
  })
})
