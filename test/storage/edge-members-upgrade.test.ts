// Access lists and packet limits of an older store, which stood beside the records that they are of.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const accountId = 'a'.repeat(32)
const deviceId = 'd'.repeat(32)
const userId = 'e'.repeat(32)
const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24'] }
const totals = { per_minute: { total_packets: 600 }, per_second: { total_packets: 20 } }

interface Stored {
  kind: string
  id: string
  doc: Json
}

describeEngines('access lists and packet limits in an older store', (engine) => {
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

  /** An older store with these records, upgraded; answers with the documents of it, by kind and id. */
  const moved = async (records: readonly Stored[]) => {
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 26),
    )
    const sql = `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ($1, $2, $3, '', '', 1, 1, 'old', $4, '{}', '{}')`
    const statements = records.map(({ kind, id, doc }) => ({
      sql,
      params: [accountId, kind, id, JSON.stringify(doc)],
    }))
    await db.write({ statements, stale: [] })
    await upgradeStorage(db, clock)
    const rows = await db.all('SELECT kind, id, doc, revision FROM records ORDER BY kind, id')
    return rows.map(({ kind, id, doc, revision }) => ({
      kind,
      id,
      doc: JSON.parse(String(doc)) as Json,
      isTouched: revision !== 'old',
    }))
  }

  it('stand in the records of accounts and devices, and nowhere else', async () => {
    const limits = { account: totals, device: totals }
    expect(
      await moved([
        { kind: 'account', id: accountId, doc: { name: 'Acme \u0000 "quoted"' } },
        { kind: 'device', id: deviceId, doc: { name: 'Phone' } },
        { kind: 'user', id: userId, doc: { note: '"access_lists":' } },
        { kind: 'access_list', id: accountId, doc: list },
        { kind: 'access_list', id: deviceId, doc: { ...list, cidrs: [] } },
        { kind: 'rate_limits', id: accountId, doc: limits },
        { kind: 'rate_limits', id: deviceId, doc: totals },
        { kind: 'rate_limits', id: 'f'.repeat(32), doc: totals },
      ]),
    ).toEqual([
      {
        kind: 'account',
        id: accountId,
        doc: { name: 'Acme \u0000 "quoted"', access_lists: list, rate_limits: limits },
        isTouched: true,
      },
      {
        kind: 'device',
        id: deviceId,
        doc: { name: 'Phone', access_lists: { ...list, cidrs: [] }, rate_limits: totals },
        isTouched: true,
      },
      { kind: 'user', id: userId, doc: { note: '"access_lists":' }, isTouched: false },
    ])
  })

  it('that records said by themselves hold where they are sound and nothing else held', async () => {
    const sound = { per_minute: { invites: 1 } }
    expect(
      await moved([
        { kind: 'account', id: accountId, doc: { access_lists: ['everybody'], rate_limits: sound } },
        { kind: 'device', id: deviceId, doc: { access_lists: list, rate_limits: sound } },
        {
          kind: 'device',
          id: userId,
          doc: { access_lists: { ...list, cidrs: ['x'] }, rate_limits: { per_minute: 1 } },
        },
        { kind: 'access_list', id: deviceId, doc: { ...list, cidrs: [] } },
      ]),
    ).toEqual([
      { kind: 'account', id: accountId, doc: {}, isTouched: true },
      {
        kind: 'device',
        id: deviceId,
        doc: { access_lists: { ...list, cidrs: [] }, rate_limits: sound },
        isTouched: true,
      },
      { kind: 'device', id: userId, doc: {}, isTouched: true },
    ])
  })

  it('are moved however many there are', async () => {
    const ids = Array.from({ length: 1203 }, (_, index) => index.toString(16).padStart(32, '0'))
    const found = await moved([
      ...ids.map((id) => ({ kind: 'device', id, doc: { n: id } })),
      ...ids.map((id) => ({ kind: 'rate_limits', id, doc: totals })),
      ...ids.map((id) => ({ kind: 'access_list', id, doc: list })),
    ])
    expect(found.map(({ doc }) => doc)).toEqual(
      ids.map((id) => ({ n: id, access_lists: list, rate_limits: totals })),
    )
  })
})
