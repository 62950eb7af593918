// A server that dies in the middle of a migration leaves no account out and takes none twice.
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { sqlWordsOf } from '../../src/storage/sql-words.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { endOtherConnections } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const accountCount = 10_000
const kills = 5
// The master account and the pattern that the others are copied from.
const all = accountCount + 2

describeEngines('a migration of many accounts that is killed several times', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres', onOneServer: true })
  })

  afterEach(() => place.remove())

  const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

  const withStore = async <T>(work: (db: Database) => Promise<T>) => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  }

  const performed = () =>
    withStore(async (db) => {
      const [row] = await db.scan('SELECT count(*) AS accounts FROM migrations_performed')
      return Number(row?.accounts)
    })

  const change = (...statements: string[]) =>
    withStore((db) => db.write({ statements: statements.map((sql) => ({ sql, params: [] })), stale: [] }))

  /** No server gets beyond the account in the middle until `release` is called: its write does not end. */
  const hold = () => {
    const middle = String(accountCount / 2).padStart(32, '0')
    const before = 'BEFORE INSERT ON migrations_performed'
    return engine === 'sqlite'
      ? change(`CREATE TRIGGER hold ${before} WHEN NEW.account_id = '${middle}' BEGIN
          SELECT count(*) FROM (WITH RECURSIVE endless(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM endless) SELECT i FROM endless);
        END`)
      : change(
          `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN NEW; END'`,
          `CREATE TRIGGER hold ${before} FOR EACH ROW WHEN (NEW.account_id = '${middle}') EXECUTE FUNCTION hold()`,
        )
  }

  const release = () =>
    engine === 'sqlite'
      ? change('DROP TRIGGER hold')
      : change(endOtherConnections, 'DROP TRIGGER hold ON migrations_performed')

  const kill = async (server: ServerProcess) => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
  }

  /** Copies of an account below the master account, each with a number whose device is gone. */
  const copyAccount = (db: Database, patternId: string, masterId: string) => {
    const series = `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ${accountCount})`
    const id = sqlWordsOf(db.engine).padded('i', 32)
    const columns = 'owner_id, sort_key, created, modified, revision, doc, hidden, row_json, tally'
    return db.write({
      statements: [
        {
          sql: `INSERT INTO records (account_id, kind, id, ${columns}) ${series}
            SELECT ${id}, kind, ${id}, ${columns} FROM series, records WHERE account_id = $1 AND kind = 'account'`,
          params: [patternId],
        },
        {
          sql: `INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key) ${series}
            SELECT ${id}, CAST($1 AS TEXT), 1, '' FROM series`,
          params: [masterId],
        },
        {
          sql: `INSERT INTO numbers (number, account_id, state, carrier, used_by, country, classifier, created, modified,
              revision, doc, hidden, row_json) ${series}
            SELECT ${sqlWordsOf(db.engine).joined(["'+1415'", sqlWordsOf(db.engine).padded('i', 7)])}, ${id}, 'in_service',
              'knm_local', 'mobile', 'US', 'did_us', 1, 1, 'first', '{}', '{"features":{"local":{}},"deviceId":"gone"}', '{}'
            FROM series`,
          params: [],
        },
        {
          sql: `UPDATE records SET tally = tally + ${accountCount} WHERE account_id = $1 AND kind = 'account'`,
          params: [masterId],
        },
      ],
      stale: [],
    })
  }

  const populate = async (): Promise<Session> => {
    const server = await start()
    const session = await openSession(server)
    await freeRequests(session)
    const { data: pattern } = await session.admin.put('/v2/accounts', { name: 'Pattern' })
    session.close()
    expect(await server.end()).toBe(0)
    await withStore((db) => copyAccount(db, pattern.id, session.masterId))
    return session
  }

  it('ends with each account migrated once', async () => {
    const known = await populate()
    const path = `/v2/accounts/${known.masterId}/migrations/repair_used_by`
    let server = await start()
    let session = await openSession(server, known)
    const startAgain = async () => {
      session.close()
      server = await start()
      session = await openSession(server, known)
    }
    const runOf = async () => (await session.admin.get(path)).data.run
    await hold()
    const order = { perform_migration: 'now', include_descendants: true }
    session.admin.post(path, order).catch(() => undefined)
    const before = await eventually(performed, (count) => count > 0)
    await kill(server)
    expect(await performed()).toBeLessThan(all)
    await release()
    await startAgain()
    const asked = await runOf()
    expect(asked).toMatchObject({ total: all })
    expect(asked.performed).toBeGreaterThanOrEqual(before)
    for (let round = 2; round <= kills; round += 1) {
      // The migration may end before a late kill. The counts below are right in that case, too.
      const { performed } = await eventually(runOf, (run) => run.performed >= (round * all) / (kills + 2))
      await kill(server)
      await startAgain()
      expect((await runOf()).performed).toBeGreaterThanOrEqual(performed)
    }
    const run = await eventually(runOf, ({ status }) => status === 'finished')
    expect(run).toMatchObject({ id: asked.id, performed: all, failed: 0, changed: accountCount })
    session.close()
    expect(await server.end()).toBe(0)
    // Each time leaves a mark in the account, and one of what was done to its number.
    const marks = await withStore((db) =>
      db.scan(`SELECT kind, count(*) AS marks, count(DISTINCT account_id) AS accounts FROM audit_log
        WHERE kind IN ('migration', 'number') GROUP BY kind ORDER BY kind`),
    )
    expect(marks).toEqual([
      { kind: 'migration', marks: all, accounts: all },
      { kind: 'number', marks: accountCount, accounts: accountCount },
    ])
    const [left] = await withStore((db) =>
      db.scan("SELECT count(*) AS numbers FROM numbers WHERE used_by <> ''"),
    )
    expect(left).toEqual({ numbers: 0 })
  })
})
