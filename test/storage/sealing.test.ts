// Secrets within documents: sealed in place, in clear for code that holds the record.

import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { createKeyring } from '../../src/auth/keyring.ts'
import { readableSecret, secret } from '../../src/lib/secrets.ts'
import { createSealing } from '../../src/storage/sealing.ts'

const shape = Type.Object({
  url: Type.String(),
  header: Type.String(secret),
  nested: Type.Object({ shown: Type.String(readableSecret), password: Type.String() }),
  lists: Type.Array(Type.Object({ key: Type.String(secret) })),
  vendors: Type.Record(Type.String(), Type.Object({ key: Type.String(secret) })),
})

describe('sealing', () => {
  const place = { accountId: 'a', kind: 'sample', id: '1' }
  const sealingWith = (byte: number) => {
    const sealing = createSealing()
    sealing.declare('sample', () => shape)
    sealing.use(createKeyring(Buffer.alloc(32, byte)))
    return sealing
  }
  const sealing = sealingWith(1)
  const doc = {
    url: 'open',
    header: 'hush-1',
    nested: { shown: 'hush-2', password: 'said to be none' },
    lists: [{ key: 'hush-3' }],
    vendors: { one: { key: 'hush-4' } },
    more: { api_key: { deep: 'hush-5' }, pin: null, open: 1 },
  }
  const text = JSON.stringify(doc)

  it('takes what a schema marks, and what it does not know and is called like a secret', () => {
    const shut = sealing.shut(place, text)
    expect(shut).not.toContain('hush')
    expect(JSON.parse(shut)).toMatchObject({
      url: 'open',
      nested: { password: 'said to be none' },
      more: { pin: null, open: 1 },
    })
    expect(sealing.open(place, shut)).toBe(text)
    expect(sealing.shut(place, text)).not.toBe(shut)
  })

  it('opens nothing in another place or with another key', () => {
    const shut = sealing.shut(place, text)
    expect(sealing.open({ ...place, id: '2' }, shut)).toBe(shut)
    expect(sealing.open({ ...place, accountId: 'b' }, shut)).toBe(shut)
    expect(sealingWith(2).open(place, shut)).toBe(shut)
  })

  it('gives back what a client wrote that looks like something sealed', () => {
    const [own] = [JSON.stringify({ header: { $sealed: 'invented' }, open: { $sealed: 'too' } })]
    const shut = sealing.shut(place, own)
    expect(sealing.isShut(place, shut)).toBe(true)
    expect(sealing.isShut(place, own)).toBe(false)
    expect(sealing.open(place, shut)).toBe(own)
  })

  it('stores no secret as long as there is no key', () => {
    const early = createSealing()
    expect(early.shut(place, '{"open":1}')).toBe('{"open":1}')
    expect(() => early.shut(place, '{"password":"hush"}')).toThrow('cannot be stored')
  })
})
