import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database, Value } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const accountId = 'a'.repeat(32)

type Rows = Record<string, Record<string, Value>[]>

const waiting = {
  account_id: accountId,
  subject: '',
  sequence: 0,
  state: 'waiting',
  marks: 1,
  outcome: '',
  finished_at: 0,
  trace: null,
}

describeEngines('what waits in an older store', (engine) => {
  const clock = createTestClock()
  let place: Place
  let db: Database

  beforeEach(async () => {
    place = await makePlace(engine, { onOneServer: true })
    db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
  })

  afterEach(async () => {
    await db.close()
    await place.remove()
  })

  /** An older store with these rows, upgraded; answers with what waits in it then. */
  const moved = async (tables: Rows) => {
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 18),
    )
    const statements = Object.entries(tables).flatMap(([table, rows]) =>
      rows.map((row) => {
        const places = Object.keys(row).map((_, index) => `$${index + 1}`)
        const sql = `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`
        return { sql, params: Object.values(row) }
      }),
    )
    await db.write({ statements, stale: [] })
    await upgradeStorage(db, clock)
    const rows = await db.all('SELECT * FROM work ORDER BY kind, id')
    return rows.map((row) => ({ ...row, payload: JSON.parse(String(row.payload)) as unknown }))
  }

  it('are phones that the provisioning service has to be told of', async () => {
    const row = { account_id: accountId, device_id: 'd1', mac_address: '001122334455', due_at: 5000 }
    expect(await moved({ provisionings: [{ ...row, failures: 3, marks: 7 }] })).toEqual([
      {
        ...waiting,
        kind: 'provisioning',
        id: 'd1',
        due_at: 5000,
        since: 5000,
        attempts: 3,
        payload: { mac: '001122334455' },
      },
    ])
  })

  it('are requests for a way back in', async () => {
    const request = { username: 'zoe "z"', account_name: 'acme', ui_url: 'https://ui.test' }
    const author = { requestId: 'r1' }
    const row = { id: 'q1', request: JSON.stringify(request), author: JSON.stringify(author), tries: 2 }
    expect(await moved({ recovery_requests: [row] })).toEqual([
      {
        ...waiting,
        kind: 'password_recovery',
        account_id: 'system',
        id: 'q1',
        due_at: 0,
        since: 0,
        attempts: 2,
        payload: { request, author },
      },
    ])
  })

  it('are letters', async () => {
    const place = { account_id: accountId, id: 'l1', notice: 'alert', recipient: 'ada@acme.test' }
    const times = { created: 1000, due_at: 61_000, good_until: 90_000_000 }
    const row = { ...place, ...times, message_id: 'l1@acme.test', sealed: 'x"y', tries: 1 }
    expect(await moved({ letters: [row] })).toEqual([
      {
        ...waiting,
        kind: 'mail',
        id: 'l1',
        due_at: 61_000,
        since: 1000,
        attempts: 1,
        payload: {
          notice: 'alert',
          recipient: 'ada@acme.test',
          messageId: 'l1@acme.test',
          sealed: 'x"y',
          created: 1000,
          goodUntil: 90_000_000,
        },
      },
    ])
  })

  it('are bookkeepers that have to be told', async () => {
    const bookkeeper = '["http","vendor","id"]'
    const row = { account_id: accountId, bookkeeper, due_at: 9000, since: 3000, attempts: 2, marks: 4 }
    expect(await moved({ service_syncs: [row] })).toEqual([
      {
        ...waiting,
        kind: 'synchronization',
        id: `${accountId}/${bookkeeper}`,
        due_at: 9000,
        since: 3000,
        attempts: 2,
        payload: { bookkeeper },
      },
    ])
  })

  it('are balances to be looked at, and who was told stays known', async () => {
    const rows = [
      { account_id: accountId, due_at: 9000, mailed_at: 0, marks: 4 },
      { account_id: 'b', due_at: 8000, mailed_at: 7000, marks: 4 },
    ]
    const look = { ...waiting, kind: 'low_balance', attempts: 0, payload: {} }
    expect(await moved({ balance_watch: rows })).toEqual([
      { ...look, id: accountId, due_at: 9000, since: 9000 },
      { ...look, account_id: 'b', id: 'b', due_at: 8000, since: 8000 },
    ])
    expect(await db.all('SELECT * FROM balance_watch')).toEqual([{ account_id: 'b', mailed_at: 7000 }])
  })

  it('are accounts to be topped up, and when they were stays known', async () => {
    const rows = [
      { account_id: accountId, due_at: 9000, last_at: 0, marks: 4 },
      { account_id: 'b', due_at: 0, last_at: 7000, marks: 4 },
    ]
    expect(await moved({ topups: rows })).toEqual([
      { ...waiting, kind: 'topup', id: accountId, due_at: 9000, since: 9000, attempts: 0, payload: {} },
    ])
    expect(await db.all('SELECT * FROM topups')).toEqual([{ account_id: 'b', last_at: 7000 }])
  })

  it('are transactions of which nobody knows yet how they ended', async () => {
    const facts = { type: 'sale', amount: 50, refunded: 0, bookkeeper_type: 'http', doc: '{}' }
    const row = { account_id: accountId, created: 62_167_219_203, due_at: 9000, attempts: 2, ...facts }
    const rows = ['pending', 'unknown', 'completed', 'failed'].map((status) => ({
      ...row,
      id: status,
      status,
    }))
    const open = { ...waiting, kind: 'transactions', due_at: 9000, since: 3000, attempts: 2, payload: {} }
    expect(await moved({ transactions: rows })).toEqual([
      { ...open, id: 'pending' },
      { ...open, id: 'unknown' },
    ])
    expect(await db.all('SELECT count(*) AS transactions FROM transactions')).toEqual([{ transactions: 4 }])
  })
})
