import { expect, it } from 'vitest'
import { failure, forbidden } from '../../src/lib/failure.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import { retrying } from '../../src/storage/store.ts'
import { snapshotOf } from '../support/matchers/snapshot.ts'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { author, openNotes, slotTaken } from '../support/world/notes.ts'

let accounts = 0
const freshAccount = () => `account-${++accounts}`

const settledKinds = async (attempts: Promise<unknown>[]) =>
  (await Promise.allSettled(attempts)).map((result) =>
    result.status === 'fulfilled' ? 'done' : (result.reason as Error).message,
  )

describeEngines('change sets', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      const other = openNotes(reopen(), clock)
      return { ...openNotes(db, clock), db, other, close }
    },
    ({ close }) => close(),
  )

  const everything = async () => ({
    ...(await snapshotOf(world.store, engine)),
    audit: await world.store.all('SELECT * FROM audit_log ORDER BY account_id, id'),
  })

  it('let exactly one of many racers have a name', async () => {
    const accountId = freshAccount()
    const racers = Array.from({ length: 8 }, (_, index) => {
      const notes = index % 2 === 0 ? world : world.other
      return notes.add(accountId, { title: `note ${index}`, slot: 'best' })
    })
    const results = await settledKinds(racers)
    expect(results.toSorted()).toEqual(['done', ...Array(7).fill('validation_error')])
    const titles = (await world.notes.page({ accountId, limit: 10, descending: false })).map(
      ({ doc }) => doc.title,
    )
    expect(titles).toEqual([`note ${results.indexOf('done')}`])
  })

  it('report to the second writer which name is taken', async () => {
    const accountId = freshAccount()
    await world.add(accountId, { title: 'first', slot: 'best' })
    await expect(world.add(accountId, { title: 'second', slot: 'best' })).rejects.toMatchObject({
      kind: { name: 'validation_error' },
      details: { problems: slotTaken('best') },
    })
    await world.add(freshAccount(), { title: 'elsewhere', slot: 'best' })
  })

  it('free a name with the change or the removal of its holder', async () => {
    const accountId = freshAccount()
    const first = await world.add(accountId, { title: 'first', slot: 'best' })
    const moved = await world.change(first, { title: 'first', slot: 'other' })
    const second = await world.add(accountId, { title: 'second', slot: 'best' })
    await expect(world.change(moved, { title: 'first', slot: 'best' })).rejects.toMatchObject({
      kind: { name: 'validation_error' },
    })
    await world.remove(second)
    await world.change(moved, { title: 'first', slot: 'best' })
    const claim = { scope: accountId, name: 'slot', value: 'best' }
    expect(await world.store.records.claimant(claim)).toEqual({ accountId, kind: 'note', id: first.id })
    expect(await world.store.records.claimant({ ...claim, value: 'other' })).toBeUndefined()
    expect(await world.store.records.claimant({ ...claim, value: 'be\0st' })).toBeUndefined()
  })

  it('release nothing that another record holds', async () => {
    const accountId = freshAccount()
    const { id } = await world.add(accountId, { title: 'holder', slot: 'best' })
    const claim = { scope: accountId, name: 'slot', value: 'best' }
    const holder = { accountId, kind: 'note', id: 'another' }
    await world.store.commit(
      new ChangeSet(author).release(claim, holder).record({ ...holder, action: 'deleted' }),
    )
    expect(await world.store.records.claimant(claim)).toMatchObject({ id })
  })

  it('happen whole or not at all, audit entries and events included', async () => {
    const accountId = freshAccount()
    const held = await world.add(accountId, { title: 'held', slot: 'best' })
    const fresh = world.notes.draft(accountId, { doc: { title: 'fresh' }, hidden: {} })
    const rival = world.notes.draft(accountId, { doc: { title: 'rival', slot: 'best' }, hidden: {} })
    const before = await everything()
    for (const order of [
      [fresh, rival],
      [rival, fresh],
    ]) {
      const set = new ChangeSet(author)
      world.notes.replace(set, held, world.notes.revise(held, { doc: { title: 'changed', slot: 'best' } }))
      for (const note of order) world.notes.insert(set, note)
      await expect(world.store.commit(set)).rejects.toMatchObject({ kind: { name: 'validation_error' } })
    }
    expect(await everything()).toEqual(before)
    expect(await world.notes.get(accountId, held.id)).toEqual(held)
  })

  it('are undone by a statement that the engine refuses, and say so', async () => {
    const accountId = freshAccount()
    const before = await everything()
    const set = new ChangeSet(author)
    world.notes.insert(set, world.notes.draft(accountId, { doc: { title: 'fresh' }, hidden: {} }))
    set.run('INSERT INTO no_such_table (a) VALUES ($1)', [1])
    await expect(world.store.commit(set)).rejects.toThrow(/no_such_table/)
    expect(await everything()).toEqual(before)
    await world.add(accountId, { title: 'the store works again' })
  })

  it('are the only way to write: a read that would write is refused', async () => {
    const accountId = freshAccount()
    const note = await world.add(accountId, { title: 'stays' })
    for (const sql of [
      'DELETE FROM records WHERE account_id = $1',
      'DELETE FROM records WHERE account_id = $1 RETURNING id',
      "UPDATE records SET doc = '{}' WHERE account_id = $1 RETURNING id",
      'WITH x AS (SELECT 1) DELETE FROM records WHERE account_id = $1 RETURNING id',
    ]) {
      await expect(world.store.all(sql, [accountId])).rejects.toThrow()
      await expect(world.store.scan(sql, [accountId])).rejects.toThrow()
    }
    expect((await world.other.notes.get(accountId, note.id)).doc.title).toBe('stays')
  })

  it('are refused when they tell no change', async () => {
    const set = new ChangeSet(author).run('DELETE FROM records WHERE account_id = $1', ['nobody'])
    const refused = async () => world.store.commit(set)
    await expect(refused()).rejects.toThrow(/without a change/)
  })

  it('leave who, when and what, of an edit what differs, with secrets masked', async () => {
    const accountId = freshAccount()
    const note = await world.add(accountId, {
      title: 'a',
      password: 'hush',
      list: [{ api_key: 'k', pin: '1' }],
    })
    const madeAt = clock.now()
    clock.advance({ seconds: 5 })
    const changed = await world.change(note, { title: 'b', signing_secret: 'hush', password: null })
    await world.remove(changed)
    const entries = await world.audit(accountId)
    expect(entries.map(({ author: text }) => JSON.parse(text))).toEqual([author, author, author])
    expect(entries.map(({ at }) => at - madeAt)).toEqual([0, 5000, 5000])
    const told = entries.map(({ action, before_doc, after_doc, changes, record_name }) => ({
      action,
      before: before_doc,
      after: after_doc && JSON.parse(after_doc),
      changes: changes && JSON.parse(changes),
      name: record_name,
    }))
    const made = { title: 'a', password: '***', list: [{ api_key: '***', pin: '***' }] }
    const nothing = { before: null, after: null, changes: null, name: null }
    expect(told).toEqual([
      { ...nothing, action: 'created', after: made },
      {
        action: 'edited',
        name: null,
        before: JSON.stringify(made),
        after: { title: 'b', signing_secret: '***', password: null },
        changes: [
          { path: 'title', from: 'a', to: 'b' },
          { path: 'password', from: '***', to: null },
          { path: 'list', from: [{ api_key: '***', pin: '***' }] },
          { path: 'signing_secret', to: '***' },
        ],
      },
      {
        ...nothing,
        action: 'deleted',
        before: JSON.stringify({ title: 'b', signing_secret: '***', password: null }),
      },
    ])
    expect(await world.events(accountId)).toEqual(
      ['note.created', 'note.edited', 'note.deleted'].map((event) => ({
        event,
        kind: 'note',
        record_id: note.id,
      })),
    )
  })

  it('show at once to other readers of the store, cached records included', async () => {
    const accountId = freshAccount()
    let note = await world.add(accountId, { title: '0' })
    for (let round = 1; round <= 50; round += 1) {
      note = await world.change(note, { title: String(round) })
      await world.other.store.fence()
      expect((await world.other.notes.get(accountId, note.id)).doc.title).toBe(String(round))
      expect((await world.other.notes.few(accountId)).map(({ doc }) => doc.title)).toEqual([String(round)])
      // SQLite reports foreign commits once a turn of the event loop, as requests arrive.
      await new Promise(setImmediate)
    }
  })

  it('repeat what lost a race, from the record as it is then', async () => {
    const accountId = freshAccount()
    const { id } = await world.add(accountId, { title: '', count: 0 })
    const increment = (notes: typeof world.other) =>
      retrying(async () => {
        await notes.store.fence()
        const note = await notes.notes.get(accountId, id)
        await notes.change(note, { ...note.doc, count: (note.doc.count as number) + 1 })
      })
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([increment(world), increment(world.other), increment(world)])
      await new Promise(setImmediate)
    }
    await world.store.fence()
    expect((await world.notes.get(accountId, id)).doc.count).toBe(30)
  })
})

it('a lost race is repeated a few times only, other failures never', async () => {
  let calls = 0
  const failing = (error: () => Error) => () => {
    calls += 1
    throw error()
  }
  await expect(retrying(async () => failing(conflict)())).rejects.toMatchObject({
    kind: { name: 'datastore_conflict' },
  })
  expect(calls).toBe(5)
  await expect(
    retrying(async () => failing(() => failure(forbidden, { cause: 'a test' }))()),
  ).rejects.toMatchObject({
    kind: { name: 'forbidden' },
  })
  expect(calls).toBe(6)
})
