import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'

// On each of the two stores: fifty together.
const kills = countOf(1, 25)
const clients = 4
const legsPerBody = 40

const posted = readFileSync(new URL('../data/freeswitch/fax.json', import.meta.url), 'utf8')
const postedId = '83d495e6-dc59-4491-a182-e29184f57289'

/** Records that a server has acknowledged, and records whose response never came. */
interface Ledger {
  acknowledged: Set<string>
  unanswered: string[]
}

describeAnyEngine('A server that is killed while call detail records come in', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  })

  afterEach(() => place.remove())

  const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

  const stored = async () => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    const store = createStore(db, systemClock)
    const rows = await storedRows(store)
    const [counted] = await store.all(
      "SELECT sum(calls) AS calls FROM cdr_tallies WHERE dimension = 'all' AND seconds = 900",
    )
    await db.close()
    return { ids: rows.map(({ id }) => id.slice(7)), calls: counted?.calls }
  }

  const legs = ({ masterId }: Session, name: string) => {
    const timestamp = gregorianNow(systemClock)
    return Array.from({ length: legsPerBody }, (_, index) => ({
      call_id: `${name}-${index}`,
      timestamp,
      custom_channel_vars: { account_id: masterId },
    }))
  }

  const sendBody = async ({ admin }: Session, records: readonly { call_id: string }[], ledger: Ledger) => {
    const ids = records.map(({ call_id: id }) => id)
    try {
      const answer = await admin.put('/v2/cdrs', undefined, {
        body: Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
        headers: { 'content-type': 'application/x-ndjson' },
      })
      expect([answer.status, answer.data.accepted], answer.text).toEqual([201, legsPerBody])
      for (const id of ids) ledger.acknowledged.add(id)
    } catch (error) {
      ledger.unanswered.push(...ids)
      throw error
    }
  }

  const post = async (server: ServerProcess, secret: string, id: string, ledger: Ledger) => {
    try {
      const answer = await fetch(`${server.url}/ingest/freeswitch/${secret}?uuid=${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: posted.replaceAll(postedId, id),
      })
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'accepted' }])
      ledger.acknowledged.add(id)
    } catch (error) {
      ledger.unanswered.push(id)
      throw error
    }
  }

  const forever = async (send: (turn: number) => Promise<void>) => {
    for (let turn = 0; ; turn += 1) await send(turn)
  }

  const expectCut = (ended: PromiseSettledResult<void>[]) => {
    for (const result of ended) {
      const { reason } = result as PromiseRejectedResult
      expect(String(reason.code ?? reason.cause?.code ?? reason)).toMatch(
        /ECONNRESET|ECONNREFUSED|EPIPE|UND_ERR_SOCKET/,
      )
    }
  }

  const kill = async (server: ServerProcess) => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
  }

  it(`${kills} times has every record that it acknowledged, once, and no record twice`, {
    timeout: 400_000,
  }, async () => {
    let server = await start()
    let session = await openSession(server)
    await freeRequests(session)
    const { default: ingest } = (await session.admin.get('/v2/system_configs/ingest')).data
    await session.admin.patch(`/v2/accounts/${session.masterId}`, { realm: 'acme.test' })
    const ledger: Ledger = { acknowledged: new Set(), unanswered: [] }
    for (let round = 0; round < kills; round += 1) {
      const before = ledger.acknowledged.size
      const sending = [
        ...Array.from({ length: clients }, (_, client) =>
          forever((turn) => sendBody(session, legs(session, `${round}-${client}-${turn}`), ledger)),
        ),
        forever((turn) => post(server, ingest.freeswitch_secret, `switch-${round}-${turn}`, ledger)),
      ]
      const ended = Promise.allSettled(sending)
      // Each time a little later, so that kills happen at every moment of a write.
      await eventually(
        () => ledger.acknowledged.size - before,
        (count) => count >= 50 + 20 * round,
      )
      await kill(server)
      expectCut(await ended)
      session.close()
      server = await start()
      session = await openSession(server, session)
    }
    session.close()
    expect(await server.end()).toBe(0)
    const { ids, calls } = await stored()
    const once = new Set(ids)
    expect(ids.length, 'no record twice').toBe(once.size)
    expect([...ledger.acknowledged].filter((id) => !once.has(id))).toEqual([])
    // A record with an unknown result may exist, and the statistics match the records.
    expect(ids.length).toBeLessThanOrEqual(ledger.acknowledged.size + ledger.unanswered.length)
    expect(Number(calls)).toBe(ids.length)
  })
})
