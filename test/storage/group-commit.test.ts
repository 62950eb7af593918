import { expect, it } from 'vitest'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { openNotes } from '../support/world/notes.ts'

let accounts = 0
const freshAccount = () => `account-${++accounts}`

describeEngines('writes that come together', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      return { ...openNotes(db, clock), other: openNotes(reopen(), clock), close }
    },
    ({ close }) => close(),
  )

  const storedTitles = async (accountId: string) => {
    const page = await world.notes.page({ accountId, limit: 1000, descending: false })
    return page.map(({ doc }) => doc.title)
  }

  it('get a verdict each: who fails takes no neighbour along', async () => {
    const accountId = freshAccount()
    await world.add(accountId, { title: 'holder', slot: 'taken' })
    const numbers = Array.from({ length: 300 }, (_, index) => index)
    const isBad = (index: number) => index % 7 === 3
    const results = await Promise.allSettled(
      numbers.map((index) =>
        world.add(accountId, { title: `note ${index}`, ...(isBad(index) ? { slot: 'taken' } : {}) }),
      ),
    )
    expect(results.map(({ status }) => status === 'rejected')).toEqual(numbers.map(isBad))
    const kept = numbers.filter((index) => !isBad(index)).map((index) => `note ${index}`)
    expect(await storedTitles(accountId)).toEqual(['holder', ...kept].toSorted())
    expect(await world.audit(accountId)).toHaveLength(kept.length + 1)
    expect(await world.events(accountId)).toHaveLength(kept.length + 1)
  })

  it('have the same results together as they would have alone when they need the same name', async () => {
    const accountId = freshAccount()
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => {
        const notes = index % 3 === 0 ? world.other : world
        return notes.add(accountId, { title: `note ${index}`, slot: `slot ${index % 20}` })
      }),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
    expect(await storedTitles(accountId)).toHaveLength(20)
    expect(await world.events(accountId)).toHaveLength(20)
  })

  it('survive a neighbour whose statement the engine refuses', async () => {
    const accountId = freshAccount()
    const id = 'x'.repeat(32)
    const good = Array.from({ length: 20 }, (_, index) => world.add(accountId, { title: `good ${index}` }))
    // NUL cannot be stored as text on PostgreSQL; an embedded store takes it.
    const odd = Promise.allSettled([world.add(accountId, { title: 'odd', owner: 'a\0b' }, id)])
    await Promise.all(good)
    const [verdict] = await odd
    expect(verdict.status).toBe(engine === 'postgres' ? 'rejected' : 'fulfilled')
    expect(await storedTitles(accountId)).toHaveLength(engine === 'postgres' ? 20 : 21)
  })

  it('are committed together when one of them is refused by the engine', async () => {
    const { db, close } = await openTestDatabase(engine)
    const notes = openNotes(db, clock)
    const batches: number[] = []
    db.onBatch(({ writes }) => batches.push(writes))
    const accountId = freshAccount()
    const titles = Array.from({ length: 40 }, (_, index) => (index === 20 ? 'odd' : `good ${index}`))
    await Promise.allSettled(
      titles.map((title) => notes.add(accountId, { title, ...(title === 'odd' ? { owner: 'a\0b' } : {}) })),
    )
    expect(batches.reduce((sum, writes) => sum + writes, 0)).toBe(engine === 'postgres' ? 39 : 40)
    // The writes before it and the writes after it; no write has a separate transaction.
    expect(batches.length).toBeLessThanOrEqual(3)
    await close()
  })

  it('are committed together when one of them needs a name that another one has', async () => {
    const { db, close } = await openTestDatabase(engine)
    const notes = openNotes(db, clock)
    const accountId = freshAccount()
    await notes.add(accountId, { title: 'holder', slot: 'taken' })
    const batches: number[] = []
    db.onBatch(({ writes }) => batches.push(writes))
    const slots = Array.from({ length: 40 }, (_, index) => (index === 20 ? 'taken' : `slot ${index}`))
    const results = await Promise.allSettled(
      slots.map((slot) => notes.add(accountId, { title: 'one of many', slot })),
    )
    expect(results.map(({ status }) => status === 'rejected')).toEqual(slots.map((slot) => slot === 'taken'))
    expect(batches.reduce((sum, writes) => sum + writes, 0)).toBe(engine === 'postgres' ? 39 : 40)
    expect(batches.length).toBeLessThanOrEqual(5)
    await close()
  })

  it('of two processes never wait for each other for good', async () => {
    const accountId = freshAccount()
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => world.add(accountId, { title: `note ${index}` })),
    )
    // Opposite orders of the same rows: a deadlock on PostgreSQL unless the store makes one of them try again.
    const touchAll = async (notes: typeof world.other, order: typeof made) =>
      Promise.allSettled(order.map((note) => notes.change(note, { title: `${note.doc.title} changed` })))
    const [ours, theirs] = await Promise.all([
      touchAll(world, made),
      touchAll(world.other, made.toReversed()),
    ])
    const kinds = [...ours, ...theirs].map((result) =>
      result.status === 'fulfilled' ? 'done' : (result.reason as Error).message,
    )
    expect(kinds.filter((kind) => kind === 'done')).toHaveLength(made.length)
    expect(kinds.filter((kind) => kind === 'datastore_conflict')).toHaveLength(made.length)
    expect(await world.events(accountId)).toHaveLength(2 * made.length)
  })

  it('are finished before the store closes, and refused after', async () => {
    const { db, reopen, close } = await openTestDatabase(engine)
    const notes = openNotes(db, clock)
    const accountId = freshAccount()
    const pending = Array.from({ length: 100 }, (_, index) =>
      notes.add(accountId, { title: `note ${index}` }),
    )
    await db.close()
    await Promise.all(pending)
    await expect(notes.add(accountId, { title: 'late' })).rejects.toMatchObject({
      kind: { name: 'datastore_unreachable' },
    })
    const later = openNotes(reopen(), clock)
    expect(await later.notes.page({ accountId, limit: 1000, descending: false })).toHaveLength(100)
    await close().catch(() => undefined)
  })
})
