import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const rounds = countOf(1, 5)
const clients = 12

/** Queries that find what half of a change set would leave behind; each must come back empty. */
const halves = {
  'a user without its name': `SELECT r.id FROM records r WHERE r.kind = 'user' AND NOT EXISTS (
    SELECT 1 FROM claims c WHERE c.holder_account_id = r.account_id AND c.record_id = r.id AND c.name = 'username')`,
  'a name without its record': `SELECT c.value FROM claims c WHERE c.kind IN ('user', 'account') AND c.name <> 'master_account'
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.account_id = c.holder_account_id AND r.kind = c.kind AND r.id = c.record_id)`,
  'a record without an audit entry of its creation': `SELECT r.id FROM records r WHERE r.kind IN ('user', 'account') AND NOT EXISTS (
    SELECT 1 FROM audit_log a WHERE a.account_id = r.account_id AND a.record_id = r.id AND a.action = 'created')`,
  'an audit entry without its record': `SELECT a.record_id FROM audit_log a WHERE a.kind IN ('user', 'account') AND a.action = 'created'
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.account_id = a.account_id AND r.kind = a.kind AND r.id = a.record_id)`,
  'an entry without an event for subscribers': 'SELECT id FROM audit_log WHERE event IS NULL',
  'an entry in the order, but not in the chain': `SELECT id FROM audit_log
    WHERE sequence IS NOT NULL AND action <> 'happened' AND digest IS NULL`,
  'an account outside of the tree': `SELECT r.id FROM records r WHERE r.kind = 'account' AND r.hidden NOT LIKE '%"tree":[]%'
    AND NOT EXISTS (SELECT 1 FROM account_tree t WHERE t.account_id = r.id AND t.distance = 1)`,
  'a wrong count of sub-accounts': `SELECT r.id FROM records r WHERE r.kind = 'account'
    AND r.tally <> (SELECT count(*) FROM account_tree t WHERE t.ancestor_id = r.id)`,
}

describeEngines('a killed server', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  })

  afterEach(() => place.remove())

  const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

  const halvesFound = async () => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    const found: Record<string, unknown[]> = {}
    for (const [title, sql] of Object.entries(halves)) {
      const rows = await db.all(sql)
      if (rows.length > 0) found[title] = rows
    }
    await db.close()
    return found
  }

  /** Creates users and accounts until the server dies; `acknowledged` collects the paths of successful requests. */
  const createUntilKilled = async ({ admin, masterId }: Session, round: number, acknowledged: string[]) => {
    const create = async (client: number) => {
      for (let number = 0; ; number += 1) {
        const name = `x${round}-${client}-${number}`
        const user = { first_name: 'A', last_name: 'B', username: name }
        const [path, data] =
          client % 4 === 0
            ? ([`/v2/accounts/${masterId}`, { name, realm: `${name}.test` }] as const)
            : ([`/v2/accounts/${masterId}/users`, user] as const)
        const answer = await admin.put(path, data)
        expect(answer.status, answer.text).toBe(201)
        acknowledged.push(client % 4 === 0 ? `/v2/accounts/${answer.data.id}` : `${path}/${answer.data.id}`)
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: clients }, (_, client) => create(client)))
    for (const result of ended) {
      expect((result as PromiseRejectedResult).reason.code).toMatch(/ECONNRESET|ECONNREFUSED|EPIPE/)
    }
  }

  const kill = async (server: ServerProcess) => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
  }

  it('has kept all it acknowledged, and nothing by halves', { timeout: 120_000 }, async () => {
    let server = await start()
    let session = await openSession(server)
    await freeRequests(session)
    let acknowledged = 0
    for (let round = 0; round < rounds; round += 1) {
      const paths: string[] = []
      const creating = createUntilKilled(session, round, paths)
      await eventually(
        () => paths.length,
        (count) => count >= clients + 7 * round,
      )
      await kill(server)
      await creating
      session.close()
      expect(await halvesFound()).toEqual({})
      server = await start()
      session = await openSession(server, session)
      const answers = await Promise.all(paths.map((path) => session.admin.get(path)))
      expect(answers.filter(({ status }) => status !== 200)).toEqual([])
      acknowledged += paths.length
    }
    session.close()
    expect(acknowledged).toBeGreaterThanOrEqual(rounds * clients)
    expect(await server.end()).toBe(0)
  })
})
