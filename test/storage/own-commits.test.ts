import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { createTestClock } from '../support/run/clock.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { describeEngines, makePlace, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'
import { openNotes } from '../support/world/notes.ts'

const rounds = 150

const titleAt = async (db: Database, id: string) => {
  const [row] = await db.all<{ doc: string }>('SELECT doc FROM records WHERE id = $1', [id])
  return JSON.parse(row?.doc ?? '{}').title as string
}

describeEngines('commits', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      return { db, other: reopen(), ...openNotes(db, clock), close }
    },
    ({ close }) => close(),
  )

  it('that others have read already are read by the process that made them, also before their notification', async () => {
    let note = await world.add('a', { title: 'first' })
    for (let round = 0; round < rounds; round += 1) {
      await world.notes.get('a', note.id)
      const title = `round ${round}`
      const change = world.change(note, { title })
      while ((await titleAt(world.other, note.id)) !== title);
      await world.db.fence()
      const found = await world.notes.get('a', note.id)
      expect(found.doc.title).toBe(title)
      note = await change
    }
  })

  it('that are not pending invalidate nothing at a fence', async () => {
    await world.db.fence()
    const era = world.store.records.era()
    const stale: unknown[] = []
    world.db.onStale((keys) => void stale.push(keys))
    await world.db.fence()
    expect(stale).toEqual([])
    expect(world.store.records.era()).toBe(era)
  })
})

describe.runIf(engines.includes('postgres'))('commits before their notification', () => {
  it('are read by the process that made them as soon as other processes can read them', async () => {
    const place = await makePlace('postgres', { isUpgraded: true })
    onTestFinished(place.remove)
    const way = await createCuttable(place.databaseUrl as string)
    onTestFinished(way.close)
    const [db, other] = [openPostgres(way.url), openPostgres(place.databaseUrl as string)]
    onTestFinished(async () => void (await Promise.all([db.close(), other.close()])))
    const notes = openNotes(db, createTestClock())
    const note = await notes.add('a', { title: 'first' })
    await db.fence()
    await notes.notes.get('a', note.id)

    way.holdCommits()
    const change = notes.change(note, { title: 'second' })
    while ((await titleAt(other, note.id)) !== 'second');
    await db.fence()
    const found = await notes.notes.get('a', note.id)
    way.letCommitsGo()

    expect(found.doc).toEqual({ title: 'second' })
    expect((await change).doc).toEqual({ title: 'second' })
  })
})
