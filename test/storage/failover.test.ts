import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { upgradeStorage } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/run/clock.ts'
import { eventually } from '../support/run/eventually.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { engines } from '../support/servers/postgres.ts'
import { type PostgresCluster, startCluster } from '../support/servers/postgres-cluster.ts'
import { openNotes } from '../support/world/notes.ts'
import { someOf } from '../support/world/walk.ts'

const clock = createTestClock()
const unreachable = { kind: expect.objectContaining({ name: 'datastore_unreachable' }) }

describe.runIf(engines.includes('postgres'))('a store on a primary and a synchronous standby', () => {
  let cluster: PostgresCluster

  beforeAll(async () => {
    cluster = await startCluster()
    const { db } = open(cluster.url)
    await upgradeStorage(db, clock)
    await db.close()
  })

  afterEach(() => cluster.mend())

  afterAll(() => cluster.close())

  const open = (url: string, patienceMilliseconds?: number) => {
    const db = openPostgres(url, { patienceMilliseconds })
    return { db, notes: openNotes(db, clock) }
  }

  const onServer = async <T>(sql: string, params: unknown[] = []) =>
    (await cluster.ask((client) => client.query(sql, params))).rows as T[]

  it('finds the server that takes writes, at any place in the list', async () => {
    const [first, second] = [cluster.urlOf('standby'), cluster.urlOf('primary')]
    const hosts = [first, second].map((url) => new URL(url).host)
    const { db, notes } = open(second.replace(new URL(second).host, hosts.join(',')))
    await notes.add('a', { title: 'found' })
    expect(await db.all('SELECT pg_is_in_recovery() AS standby')).toEqual([{ standby: false }])
    await db.close()
  })

  it('refuses a standby that is named alone', async () => {
    const { db } = open(cluster.urlOf('standby'))
    await expect(upgradeStorage(db, clock)).rejects.toMatchObject({
      ...unreachable,
      cause: { message: expect.stringContaining('is a standby, or read-only') },
    })
    await db.close()
  })

  it('reads nothing from a standby that its only address leads to for a while', async () => {
    const way = await createCuttable(cluster.urlOf('primary'))
    const { db, notes } = open(way.url)
    await notes.add('w', { title: 'before' })
    way.leadTo(cluster.urlOf('standby'))
    await expect(db.all('SELECT 1 AS one')).rejects.toMatchObject({
      ...unreachable,
      cause: { message: expect.stringContaining('is a standby, or read-only') },
    })
    expect(db.state()).toBe('primary_missing')
    way.leadTo(cluster.urlOf('primary'))
    await notes.add('w', { title: 'after' })
    const page = await notes.notes.page({ accountId: 'w', limit: 10, descending: false })
    expect(page.map(({ doc }) => doc.title)).toEqual(['after', 'before'])
    expect(db.state()).toBeUndefined()
    await db.close()
    await way.close()
  })

  it.each(someOf(1, ['off', 'local', 'remote_write', 'on', 'remote_apply']))(
    'waits for disk and standby where role and database say synchronous_commit = %s',
    async (level) => {
      const strongest = level === 'remote_apply' ? 'remote_apply' : 'on'
      for (const owner of ['ROLE postgres', 'DATABASE crosspoint']) {
        await onServer(`ALTER ${owner} SET synchronous_commit = ${level}`)
        const { db } = open(cluster.url)
        const seen: unknown[] = []
        await db.exclusively(async (run) => {
          seen.push(...(await run('SHOW synchronous_commit')))
        })
        expect(seen).toEqual([{ synchronous_commit: strongest }])
        await db.write({
          statements: [
            {
              sql: "INSERT INTO scheduled_jobs (name, done_at) SELECT 'level ' || current_setting('synchronous_commit'), 0 ON CONFLICT DO NOTHING",
              params: [],
            },
          ],
          stale: [],
        })
        expect(await db.all("SELECT name FROM scheduled_jobs WHERE name LIKE 'level %'")).toEqual([
          { name: `level ${strongest}` },
        ])
        await db.write({
          statements: [{ sql: "DELETE FROM scheduled_jobs WHERE name LIKE 'level %'", params: [] }],
          stale: [],
        })
        await db.close()
        await onServer(`ALTER ${owner} RESET synchronous_commit`)
      }
    },
  )

  const connections = async () => {
    const [row] = await onServer<{ count: string }>(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = 'crosspoint' AND backend_type = 'client backend'",
    )
    return Number(row?.count)
  }

  /** Writes that are never acknowledged, until the store knows why. */
  const writeUntilRefused = async (db: Database, add: () => Promise<unknown>) => {
    await expect(Promise.allSettled([add(), add(), add(), add()])).resolves.toEqual(
      Array.from({ length: 4 }, () => ({ status: 'rejected', reason: expect.objectContaining(unreachable) })),
    )
    expect(db.state()).toBe('standby_missing')
  }

  it('keeps its connections while the standby is gone, says why, and works again when it is back', async () => {
    const { db, notes } = open(cluster.url, 1500)
    await notes.add('s', { title: 'before' })
    await cluster.killStandby()
    await writeUntilRefused(db, () => notes.add('s', { title: 'meanwhile' }))
    for (let round = 0; round < 20; round += 1) {
      await expect(notes.add('s', { title: 'refused' })).rejects.toMatchObject(unreachable)
      expect((await db.all("SELECT 1 AS one FROM records WHERE account_id = 's' LIMIT 1")).length).toBe(1)
    }
    const before = await connections()
    // Three times as long as patience lasts.
    const [{ now: began } = { now: 0 }] = await db.all<{ now: number }>(
      'SELECT (extract(epoch FROM now()) * 1000)::bigint AS now',
    )
    await eventually(
      () => db.all<{ now: number }>('SELECT (extract(epoch FROM now()) * 1000)::bigint AS now'),
      ([row]) => Number(row?.now) - Number(began) > 4500,
    )
    expect(await connections()).toBe(before)
    await cluster.addStandby()
    await eventually(
      () => db.state(),
      (state) => state === undefined,
    )
    await notes.add('s', { title: 'after' })
    const page = await notes.notes.page({ accountId: 's', limit: 10, descending: false })
    const titles = page.map(({ doc }) => doc.title)
    expect(titles).toEqual(expect.arrayContaining(['before', 'after']))
    expect(titles).not.toContain('refused')
    await db.close()
  })

  it('ends at once when it is closed while the standby is gone', async () => {
    const { db, notes } = open(cluster.url, 1000)
    await notes.add('c', { title: 'before' })
    await cluster.killStandby()
    await writeUntilRefused(db, () => notes.add('c', { title: 'meanwhile' }))
    await db.close()
  })

  it('follows a failover, also with connections that were idle in between', async () => {
    const { db, notes } = open(cluster.url)
    await notes.add('f', { title: 'before' })
    await db.fence()
    const { tidy } = await cluster.failOver()
    await eventually(
      () =>
        notes.add('f', { title: 'after' }).then(
          () => true,
          () => false,
        ),
      (isDone) => isDone,
    )
    await db.fence()
    const page = await notes.notes.page({ accountId: 'f', limit: 10, descending: false })
    expect(page.map(({ doc }) => doc.title)).toEqual(['after', 'before'])
    expect(db.state()).toBeUndefined()
    await tidy()
    await db.close()
  })
})
