import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { createAttachment } from '../../src/storage/attachment.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createCollection } from '../../src/storage/collection.ts'
import { holderOf } from '../../src/storage/records.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'

const account = 'a'.repeat(32)
const author = { requestId: 'test' }
const claimOf = (value: string) => ({ scope: account, name: 'nickname', value })
const conflict = { kind: { name: 'datastore_conflict' } }

const named = (store: Store) =>
  createCollection<{ nickname: string }, object>(store, {
    kind: 'named',
    sortKey: (doc) => doc.nickname,
    row: (doc) => doc,
    claims: ({ doc }) => [{ ...claimOf(doc.nickname), orElse: () => new Error('taken') as never }],
  })

describeEngines('records found by what they hold', (engine) => {
  let database: TestDatabase
  let here: Store
  let there: Store

  beforeAll(async () => {
    database = await openTestDatabase(engine)
    here = createStore(database.db, systemClock)
    there = createStore(database.reopen(), systemClock)
    await Promise.all([here.fence(), there.fence()])
  })
  afterAll(() => database.close())

  const commit = async (store: Store, fill: (set: ChangeSet) => unknown) => {
    const set = new ChangeSet(author)
    await fill(set)
    await store.commit(set)
  }

  const create = async (store: Store, nickname: string) => {
    const record = named(store).draft(account, { doc: { nickname }, hidden: {} })
    await commit(store, (set) => named(store).insert(set, record))
    return record
  }

  it('are those that hold it now, whichever process changed that', async () => {
    const [near, far] = [named(here), named(there)]
    const whoIs = async (nickname: string) => {
      await here.fence()
      return (await near.holder(claimOf(nickname)))?.id
    }
    expect(await whoIs('bo')).toBeUndefined()
    const first = await create(there, 'bo')
    expect(await whoIs('bo')).toBe(first.id)
    const renamed = far.revise(first, { doc: { nickname: 'jo' } })
    await commit(there, (set) => far.replace(set, first, renamed))
    expect(await whoIs('bo')).toBeUndefined()
    expect(await whoIs('jo')).toBe(first.id)
    const second = await create(there, 'bo')
    expect(await whoIs('bo')).toBe(second.id)
    await commit(there, (set) => far.remove(set, second))
    expect(await whoIs('bo')).toBeUndefined()
  })

  it('are not those of another kind', async () => {
    const { id } = await create(here, 'kindly')
    const other = createCollection<object, object>(here, {
      kind: 'other',
      sortKey: () => '',
      row: () => ({}),
    })
    expect(await other.holder(claimOf('kindly'))).toBeUndefined()
    expect((await named(here).holder(claimOf('kindly')))?.id).toBe(id)
  })

  it('keep nothing attached when they go, not even what came at the last moment', async () => {
    const notes = createAttachment<{ text: string }>(here, 'note')
    const owner = await create(here, 'annotated')
    const add = (text: string) =>
      commit(here, async (set) => notes.put(set, holderOf(owner), await notes.find(owner), { text }))
    const late = new ChangeSet(author)
    named(here).remove(late, owner)
    await notes.removeWith(late, holderOf(owner))
    await add('first')
    await expect(here.commit(late)).rejects.toMatchObject(conflict)
    await add('second')
    expect((await notes.find(owner))?.doc).toEqual({ text: 'second' })
    await commit(here, async (set) => {
      named(here).remove(set, owner)
      await notes.removeWith(set, holderOf(owner))
    })
    expect(await notes.find(owner)).toBeUndefined()
    await expect(add('third')).rejects.toMatchObject(conflict)
  })
})
