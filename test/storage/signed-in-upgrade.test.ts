// Devices of an older store at which users have signed in.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const accountId = 'a'.repeat(32)
const device = (index: number) => `${index}`.padStart(32, '0')
const ann = 'b'.repeat(32)
const bob = 'c'.repeat(32)

describeEngines('devices of an older store', (engine) => {
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

  it('are found by the users who signed in there, however many there are', async () => {
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 34),
    )
    const sql = `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ($1, $2, $3, '', '', 1, 1, 'old', $4, '{}', '{}')`
    const stored = (kind: string, id: string, doc: object) => ({
      sql,
      params: [accountId, kind, id, JSON.stringify(doc)],
    })
    const many = Array.from({ length: 501 }, (_, index) =>
      stored('device', device(index), { name: 'x', hotdesk: { users: { [ann]: {} } } }),
    )
    const others = [
      stored('device', device(600), { name: 'x', hotdesk: { users: { [ann]: {}, [bob]: {} } } }),
      stored('device', device(601), { name: 'x', hotdesk: { users: {} } }),
      stored('device', device(602), { name: '"hotdesk":' }),
      stored('user', device(603), { hotdesk: { users: { [bob]: {} } } }),
    ]
    await db.write({ statements: [...many, ...others], stale: [] })
    await upgradeStorage(db, clock)
    const rows = await db.all(
      "SELECT account_id, value, holder_account_id, kind, record_id FROM claims WHERE name = 'hotdesk_user' ORDER BY value",
    )
    expect(rows).toHaveLength(503)
    expect(rows.filter(({ record_id }) => record_id === device(600))).toEqual(
      [ann, bob].map((userId) => ({
        account_id: accountId,
        value: `${userId}/${device(600)}`,
        holder_account_id: accountId,
        kind: 'device',
        record_id: device(600),
      })),
    )
  })
})
