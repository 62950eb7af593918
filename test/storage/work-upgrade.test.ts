import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database, Value } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const accountId = 'a'.repeat(32)

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

const recoveryRequest = { username: 'zoe "z"', account_name: 'acme', ui_url: 'https://ui.test' }
const recoveryAuthor = { requestId: 'r1' }
const bookkeeper = '["http","vendor","id"]'

const transaction = {
  account_id: accountId,
  created: 62_167_219_203,
  due_at: 9000,
  attempts: 2,
  type: 'sale',
  amount: 50,
  refunded: 0,
  bookkeeper_type: 'http',
  doc: '{}',
}

/** The rows of the older store, by table. */
const tables: Record<string, Record<string, Value>[]> = {
  provisionings: [
    {
      account_id: accountId,
      device_id: 'd1',
      mac_address: '001122334455',
      due_at: 5000,
      failures: 3,
      marks: 7,
    },
  ],
  recovery_requests: [
    { id: 'q1', request: JSON.stringify(recoveryRequest), author: JSON.stringify(recoveryAuthor), tries: 2 },
  ],
  letters: [
    {
      account_id: accountId,
      id: 'l1',
      notice: 'alert',
      recipient: 'ada@acme.test',
      created: 1000,
      due_at: 61_000,
      good_until: 90_000_000,
      message_id: 'l1@acme.test',
      sealed: 'x"y',
      tries: 1,
    },
  ],
  service_syncs: [{ account_id: accountId, bookkeeper, due_at: 9000, since: 3000, attempts: 2, marks: 4 }],
  balance_watch: [
    { account_id: accountId, due_at: 9000, mailed_at: 0, marks: 4 },
    { account_id: 'b', due_at: 8000, mailed_at: 7000, marks: 4 },
  ],
  topups: [
    { account_id: accountId, due_at: 9000, last_at: 0, marks: 4 },
    { account_id: 'b', due_at: 0, last_at: 7000, marks: 4 },
  ],
  transactions: ['pending', 'unknown', 'completed', 'failed'].map((status) => ({
    ...transaction,
    id: status,
    status,
  })),
}

const inserts = Object.entries(tables).flatMap(([table, rows]) =>
  rows.map((row) => {
    const places = Object.keys(row).map((_, index) => `$${index + 1}`)
    const sql = `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`
    return { sql, params: Object.values(row) }
  }),
)

describeEngines('what waits in an older store', (engine) => {
  let place: Place
  let db: Database

  beforeAll(async () => {
    const clock = createTestClock()
    place = await makePlace(engine, { onOneServer: true })
    db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 18),
    )
    await db.write({ statements: inserts, stale: [] })
    await upgradeStorage(db, clock)
  })

  afterAll(async () => {
    await db.close()
    await place.remove()
  })

  const workOf = async (kind: string) => {
    const rows = await db.all('SELECT * FROM work WHERE kind = $1 ORDER BY id', [kind])
    return rows.map((row) => ({ ...row, payload: JSON.parse(String(row.payload)) as unknown }))
  }

  it('are phones that the provisioning service has to be told of', async () => {
    expect(await workOf('provisioning')).toEqual([
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

  it('are requests for a new password', async () => {
    expect(await workOf('password_recovery')).toEqual([
      {
        ...waiting,
        kind: 'password_recovery',
        account_id: 'system',
        id: 'q1',
        due_at: 0,
        since: 0,
        attempts: 2,
        payload: { request: recoveryRequest, author: recoveryAuthor },
      },
    ])
  })

  it('are mails', async () => {
    expect(await workOf('mail')).toEqual([
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
    expect(await workOf('synchronization')).toEqual([
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
    const look = { ...waiting, kind: 'low_balance', attempts: 0, payload: {} }
    expect(await workOf('low_balance')).toEqual([
      { ...look, id: accountId, due_at: 9000, since: 9000 },
      { ...look, account_id: 'b', id: 'b', due_at: 8000, since: 8000 },
    ])
    expect(await db.all('SELECT * FROM balance_watch')).toEqual([{ account_id: 'b', mailed_at: 7000 }])
  })

  it('are accounts to be topped up, and when they were stays known', async () => {
    expect(await workOf('topup')).toEqual([
      { ...waiting, kind: 'topup', id: accountId, due_at: 9000, since: 9000, attempts: 0, payload: {} },
    ])
    expect(await db.all('SELECT * FROM topups')).toEqual([{ account_id: 'b', last_at: 7000 }])
  })

  it('are transactions whose result is not known yet', async () => {
    const open = { ...waiting, kind: 'transactions', due_at: 9000, since: 3000, attempts: 2, payload: {} }
    expect(await workOf('transactions')).toEqual([
      { ...open, id: 'pending' },
      { ...open, id: 'unknown' },
    ])
    expect(await db.all('SELECT count(*) AS transactions FROM transactions')).toEqual([{ transactions: 4 }])
  })

  it('is nothing else', async () => {
    const rows = await db.all('SELECT DISTINCT kind FROM work ORDER BY kind')
    expect(rows.map(({ kind }) => kind)).toEqual([
      'low_balance',
      'mail',
      'password_recovery',
      'provisioning',
      'synchronization',
      'topup',
      'transactions',
    ])
  })
})
