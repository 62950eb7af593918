import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { upgradeStorage } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/run/clock.ts'
import { eventually } from '../support/run/eventually.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { lacks } from '../support/servers/installed.ts'
import { pgbouncer, startPgbouncer } from '../support/servers/pgbouncer.ts'
import { engines } from '../support/servers/postgres.ts'
import { openNotes } from '../support/world/notes.ts'

const clock = createTestClock()

const lacking = lacks('pgbouncer')

describe.skipIf(!engines.includes('postgres') || lacking)(`a store behind pgbouncer${lacking}`, () => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace('postgres')
  })

  const poolers: { close(): Promise<void> }[] = []

  // Also those of a test that failed.
  afterEach(async () => {
    await Promise.all(poolers.splice(0).map((pooler) => pooler.close()))
    await place.remove()
  })

  const startPooler = async (mode: 'session' | 'transaction' | 'statement', size: number) => {
    const pooler = await startPgbouncer(pgbouncer as string, place.databaseUrl as string, { mode, size })
    poolers.push(pooler)
    return pooler
  }

  it.each([
    ['transaction', 1],
    ['transaction', 20],
    ['statement', 1],
    ['statement', 20],
  ] as const)('is refused when the pooler lends out sessions by %s (pool of %d)', async (mode, size) => {
    const pooler = await startPooler(mode, size)
    const db = openPostgres(pooler.url)
    await expect(upgradeStorage(db, clock)).rejects.toThrow(
      /^the address leads to a pooler that lends out sessions by transaction or statement/,
    )
    await db.close()
  })

  it('is refused in transaction mode also while other programs use the pool', async () => {
    const pooler = await startPooler('transaction', 20)
    const others = Array.from({ length: 4 }, () => new Client({ connectionString: pooler.url }))
    await Promise.all(others.map((other) => other.connect()))
    let isOver = false
    const busy = others.map(async (other) => {
      while (!isOver) await other.query('SELECT 1')
    })
    for (let round = 0; round < 10; round += 1) {
      const db = openPostgres(pooler.url)
      await expect(upgradeStorage(db, clock)).rejects.toThrow(/^the address leads to a pooler/)
      await db.close()
    }
    isOver = true
    await Promise.all(busy)
    await Promise.all(others.map((other) => other.end()))
  })

  it('works, and receives commits of other processes, when the pooler pools by session', async () => {
    const pooler = await startPooler('session', 40)
    const [db, other] = [openPostgres(pooler.url), openPostgres(pooler.url)]
    await upgradeStorage(db, clock)
    const [notes, theirs] = [openNotes(db, clock), openNotes(other, clock)]
    await db.fence()
    const note = await notes.add('a', { title: 'old' })
    await notes.notes.get('a', note.id)
    await theirs.change(note, { title: 'new' })
    await db.fence()
    expect((await notes.notes.get('a', note.id)).doc.title).toBe('new')
    await Promise.all(Array.from({ length: 50 }, (_, index) => notes.add('b', { title: String(index) })))
    expect(await notes.notes.page({ accountId: 'b', limit: 100, descending: false })).toHaveLength(50)
    await Promise.all([db.close(), other.close()])
    await eventually(
      () => openNotesCount(pooler.url),
      (count) => count === 51,
    )
  })

  /** The notes that a third process finds, with sessions that other processes had before. */
  const openNotesCount = async (url: string) => {
    const db = openPostgres(url)
    const [row] = await db.all<{ count: number }>("SELECT count(*) AS count FROM records WHERE kind = 'note'")
    await db.close()
    return row?.count
  }
})
