// Secrets within documents: sealed where they lie, in clear for whoever holds the record.

import { Type } from 'typebox'
import { beforeAll, describe, expect, it } from 'vitest'
import { createKeyring } from '../../src/auth/keyring.ts'
import { readableSecret, secret } from '../../src/lib/secrets.ts'
import { sealOlder } from '../../src/storage/seal-older.ts'
import { createSealing } from '../../src/storage/sealing.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'
import { openNotes } from '../support/notes.ts'

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
    const [own] = [JSON.stringify({ header: { $sealed: 'made up' }, open: { $sealed: 'too' } })]
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

describeEngines('documents from before secrets were sealed', (engine) => {
  const world = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const clock = createTestClock()
      return {
        ...opened,
        first: openNotes(opened.db, clock),
        second: openNotes(opened.reopen(), clock),
      }
    },
    ({ close }) => close(),
  )

  const rows = () =>
    world.first.store.all<{ id: string; doc: string; revision: string }>(
      "SELECT id, doc, revision FROM records WHERE kind = 'note' ORDER BY id",
    )

  /** 1,300 of them: some batches. */
  beforeAll(async () => {
    const ids = Array.from({ length: 1300 }, (_, index) => String(index).padStart(4, '0'))
    const insert = `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ('account', 'note', $1, '', $1, 1, 1, $2, $3, '{}', '{}')`
    const statements = ids.map((id) => ({
      sql: insert,
      params: [id, `rev-${id}`, JSON.stringify({ title: id, api_key: `hush ${id}` })],
    }))
    await world.first.store.writeUnrecorded(statements)
  })

  const walks = () => world.first.store.all('SELECT id FROM sealing_walk')

  it('are sealed by whoever starts first, by several at once, and once', async () => {
    const before = await rows()
    // One is cut off after its first batch.
    const { store } = world.first
    let writes = 0
    const cut = {
      ...store,
      writeUnrecorded: (...given: Parameters<typeof store.writeUnrecorded>) => {
        writes += 1
        return writes > 1 ? Promise.reject(new Error('cut off')) : store.writeUnrecorded(...given)
      },
    }
    await expect(sealOlder(cut)).rejects.toThrow('cut off')
    expect((await rows()).filter(({ doc }) => doc.includes('hush ')).length).toBeLessThan(1300)
    expect(await walks()).toHaveLength(1)
    await Promise.all([sealOlder(world.first.store), sealOlder(world.second.store)])
    const after = await rows()
    expect(after.filter(({ doc }) => doc.includes('hush '))).toEqual([])
    expect(after.map(({ id, revision }) => ({ id, revision }))).toEqual(
      before.map(({ id, revision }) => ({ id, revision })),
    )
    expect(await walks()).toEqual([])
    const note = await world.second.notes.get('account', '0815')
    expect(note.doc).toEqual({ title: '0815', api_key: 'hush 0815' })
    await sealOlder(world.first.store)
    expect(await rows()).toEqual(after)
  })
})
