import { setImmediate as nextTurn } from 'node:timers/promises'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CsvQuery, Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { createTestClock } from '../support/run/clock.ts'
import { type Cuttable, createCuttable } from '../support/servers/cuttable.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { endOtherConnections, engines } from '../support/servers/postgres.ts'
import { type Notes, openNotes } from '../support/world/notes.ts'

const clock = createTestClock()

/** A line of CSV with one cell. */
const lineOf = (value: string): CsvQuery => ({
  cells: [{ value }],
  plainWhen: 'true',
  orderedBy: [],
  tail: '',
  params: [],
  byBlock: false,
})

describe.runIf(engines.includes('postgres'))('the connections to PostgreSQL', () => {
  let place: Place
  let way: Cuttable
  let db: Database
  let notes: Notes

  beforeEach(async () => {
    place = await makePlace('postgres', { isUpgraded: true })
    way = await createCuttable(place.databaseUrl as string)
    db = openPostgres(way.url, { patienceMilliseconds: 1500 })
    notes = openNotes(db, clock)
    await db.fence()
  })

  afterEach(async () => {
    await db.close()
    await way.close()
    await place.remove()
  })

  const administrator = async () => {
    const client = new Client({ connectionString: place.databaseUrl })
    await client.connect()
    return client
  }

  /** Ends every other connection to the test's database, as an administrator or a failover would. */
  const terminateAll = async () => {
    const client = await administrator()
    await client.query(endOtherConnections)
    await client.end()
  }

  it('plan each write for the tables as they are, however often it was sent before', async () => {
    // PostgreSQL would keep the plan of the sixth time.
    const write = {
      sql: `INSERT INTO feed_marks (name, sequence) SELECT $1, sum(generic_plans) FROM pg_prepared_statements
        ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence`,
      params: ['plans'],
    }
    const patient = openPostgres(place.databaseUrl as string)
    for (let time = 1; time <= 10; time += 1) await patient.write({ statements: [write], stale: [] })
    expect(await patient.all("SELECT sequence FROM feed_marks WHERE name = 'plans'", [])).toEqual([
      { sequence: 0 },
    ])
    await patient.close()
  })

  it('are asked once for all fences of one turn of the event loop, and again for later fences', async () => {
    const first = db.fence()
    expect(db.fence()).toBe(first)
    // The first query has been sent, so it shows only earlier commits. A later fence sends another query,
    // whether the first one is answered or not.
    await nextTurn()
    await nextTurn()
    const second = db.fence()
    expect(second).not.toBe(first)
    expect(db.fence()).toBe(second)
    await Promise.all([first, second])
  })

  const unreachable = { kind: { name: 'datastore_unreachable' } }
  const nothing = Promise.resolve()

  it('come back after the server has ended them', async () => {
    for (let round = 0; round < 3; round += 1) {
      await notes.add('a', { title: `before ${round}` })
      await terminateAll()
      // One attempt may use the broken connection and fail with a clear error; later ones succeed.
      const [outcome] = await Promise.allSettled([notes.add('a', { title: `between ${round}` })])
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(unreachable)
      await db.fence()?.catch((error) => expect(error).toMatchObject(unreachable))
      await notes.notes.page({ accountId: 'a', limit: 1, descending: false }).catch(() => undefined)
      await notes.add('a', { title: `after ${round}` })
      await db.fence()
    }
    const page = await notes.notes.page({ accountId: 'a', limit: 100, descending: false })
    const titles = page.map(({ doc }) => doc.title)
    expect(titles).toEqual(expect.arrayContaining(['before 0', 'after 0', 'before 2', 'after 2']))
    expect(await notes.audit('a')).toHaveLength(titles.length)
  })

  /** Ends connections whose statement waits for a lock, until it has ended that many. */
  const terminateWaiting = async (many: number) => {
    // Not within a transaction, which would see the same moment again and again.
    const client = await administrator()
    for (let ended = 0; ended < many; ) {
      const { rowCount } = await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
      ended += rowCount ?? 0
    }
    await client.end()
  }

  it('carry out again what went with one of them before it was committed', async () => {
    await notes.add('f', { title: 'before' })
    const holder = await administrator()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE records IN ACCESS EXCLUSIVE MODE')
    const both = Promise.all([
      db.all("SELECT doc FROM records WHERE account_id = 'f'"),
      notes.add('f', { title: 'after' }),
    ])
    await terminateWaiting(2)
    await holder.query('ROLLBACK')
    await holder.end()
    expect((await both)[0].length).toBeGreaterThan(0)
    expect(await notes.audit('f')).toHaveLength(2)
  })

  it('fail what was in flight as unreachable, never as something unexpected', async () => {
    for (let round = 0; round < 5; round += 1) {
      const attempts = [
        ...Array.from({ length: 40 }, (_, index) => notes.add('b', { title: `${round} ${index}` })),
        ...Array.from({ length: 10 }, () => db.all('SELECT pg_sleep(0.05)')),
        db.scan('SELECT pg_sleep(0.05)'),
        db.csvLines(lineOf('pg_sleep(0.05)')),
        db.fence() ?? nothing,
      ]
      const settled = Promise.allSettled(attempts)
      await terminateAll()
      for (const result of await settled) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject(unreachable)
      }
    }
    await db.fence()?.catch(() => undefined)
    await notes.add('b', { title: 'after all' }).catch(() => undefined)
    await notes.add('b', { title: 'after all' })
  })

  it('refuse clearly while the server is away, and work once it is back', async () => {
    await notes.add('c', { title: 'before' })
    way.cut()
    await expect(notes.add('c', { title: 'away' })).rejects.toMatchObject(unreachable)
    await expect(db.all('SELECT 1')).rejects.toMatchObject(unreachable)
    await expect(db.scan('SELECT 1')).rejects.toMatchObject(unreachable)
    await expect(db.csvLines(lineOf('1'))).rejects.toMatchObject(unreachable)
    await expect(db.fence()).rejects.toMatchObject(unreachable)
    way.mend()
    await notes.add('c', { title: 'after' })
    await db.fence()
    const page = await notes.notes.page({ accountId: 'c', limit: 10, descending: false })
    expect(page.map(({ doc }) => doc.title)).toEqual(['after', 'before'])
    expect(Buffer.from(await db.csvLines(lineOf('1'))).toString()).toBe('1\r\n')
  })

  it.each([5, 7, 10])('are never more than the %d that a process may have', async (connections) => {
    const bounded = openPostgres(place.databaseUrl as string, { connections })
    const client = await administrator()
    const others = async () => {
      const { rows } = await client.query<{ count: string }>(
        `SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      )
      return Number(rows[0]?.count)
    }
    const before = await others()
    const theirs = openNotes(bounded, clock)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => [
        bounded.fence() ?? nothing,
        bounded.all('SELECT pg_sleep(0.02)'),
        bounded.scan('SELECT pg_sleep(0.02)'),
        bounded.csvLines(lineOf('pg_sleep(0.02)')),
        theirs.add('g', { title: String(index) }),
      ]).flat(),
    )
    // All kinds of work together opened all connections, except for lanes without work.
    const opened = (await others()) - before
    expect(opened).toBeGreaterThanOrEqual(5)
    expect(opened).toBeLessThanOrEqual(connections)
    await bounded.close()
    await client.end()
  })

  it('pass on the error of the server for an export that it refuses', async () => {
    await expect(db.csvLines({ ...lineOf('1'), tail: 'FROM nowhere' })).rejects.toMatchObject({
      message: 'relation "nowhere" does not exist',
      code: '42P01',
    })
    expect(Buffer.from(await db.csvLines(lineOf("'a,b'"))).toString()).toBe('"a,b"\r\n')
  })

  it('give up on a server that no longer says anything', async () => {
    await notes.add('d', { title: 'before' })
    way.fallSilent()
    const attempts = [db.fence(), db.all('SELECT 1'), notes.add('d', { title: 'silence' })]
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({ status: 'rejected', reason: unreachable })
    }
    way.mend()
    await notes.add('d', { title: 'after' })
    await db.fence()
  })

  it('forget what they cached when the listening one was lost', async () => {
    const note = await notes.add('e', { title: 'old' })
    await notes.notes.get('e', note.id)
    const other = openPostgres(place.databaseUrl as string)
    const theirs = openNotes(other, clock)
    way.cut()
    await theirs.change(note, { title: 'new' })
    way.mend()
    await db.fence()?.catch(() => undefined)
    await db.fence()
    expect((await notes.notes.get('e', note.id)).doc.title).toBe('new')
    await other.close()
  })
})
