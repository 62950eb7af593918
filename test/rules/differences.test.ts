import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differencesBetween } from '../../src/lib/differences.ts'

describe('the differences between two records', () => {
  it('tell each value that is another one, by its path', () => {
    const before = {
      name: 'a',
      caller_id: { internal: { name: 'x', number: '1' } },
      tags: ['a', 'b'],
      same: 1,
    }
    const after = {
      name: 'b',
      caller_id: { internal: { name: 'y', number: '1' } },
      tags: ['a', 'c'],
      same: 1,
    }
    expect(differencesBetween(before, after)).toEqual([
      { path: 'name', from: 'a', to: 'b' },
      { path: 'caller_id.internal.name', from: 'x', to: 'y' },
      { path: 'tags.1', from: 'b', to: 'c' },
    ])
  })

  it('leave out what was not there', () => {
    expect(differencesBetween({ gone: 1, old: { deep: [] } }, { come: { a: 1, b: {} } })).toEqual([
      { path: 'gone', from: 1 },
      { path: 'old.deep', from: [] },
      { path: 'come.a', to: 1 },
      { path: 'come.b', to: {} },
    ])
  })

  it('tell lists that became longer or shorter, and what changed its nature, as a whole', () => {
    expect(
      differencesBetween({ a: [1], b: { c: 1 }, d: 1 }, { a: [1, 2], b: 'text', d: { e: null } }),
    ).toEqual([
      { path: 'a', from: [1], to: [1, 2] },
      { path: 'b', from: { c: 1 }, to: 'text' },
      { path: 'd', from: 1, to: { e: null } },
    ])
  })

  it('tell that a secret changed, and not the secret', () => {
    const before = {
      password: 'one',
      sip: { password: 'two' },
      keys: [{ pin: '1' }],
      whole: [{ pin: '3' }],
      api_key: 'k',
    }
    const after = {
      password: 'uno',
      sip: { password: 'two' },
      keys: [{ pin: '2' }],
      whole: [],
      pin: '9',
      api_key: null,
    }
    expect(differencesBetween(before, after)).toEqual([
      { path: 'password', from: '***', to: '***' },
      { path: 'keys.0.pin', from: '***', to: '***' },
      { path: 'whole', from: [{ pin: '***' }], to: [] },
      { path: 'api_key', from: '***', to: null },
      { path: 'pin', to: '***' },
    ])
  })

  it('are none between equal records, and some between others', () => {
    const record = fc.dictionary(fc.string(), fc.jsonValue())
    const copyOf = (value: object) => JSON.parse(JSON.stringify(value))
    fc.assert(
      fc.property(record, record, (a, b) => {
        expect(differencesBetween(copyOf(a), copyOf(a))).toEqual([])
        const isSame = JSON.stringify(copyOf(a)) === JSON.stringify(copyOf(b))
        if (isSame || differencesBetween(copyOf(a), copyOf(b)).length > 0) return
        // The remaining difference is the order of keys.
        expect(copyOf(a)).toEqual(copyOf(b))
      }),
    )
  })
})
