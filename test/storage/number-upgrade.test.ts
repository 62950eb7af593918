import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createNumberStore } from '../../src/areas/phone-numbers/store.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace } from '../support/databases.ts'

const accountId = 'a'.repeat(32)
const deviceId = 'd'.repeat(32)

describeEngines('the numbers of mobile devices in an older store', (engine) => {
  it('come into the inventory, and their claims go', async () => {
    const place = await makePlace(engine, { onOneServer: true })
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    const clock = createTestClock()
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 5),
    )
    const device = `INSERT INTO records
      (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ($1, 'device', $2, '', '', 63900000000, 63900000001, 'r', '{}', '{}', '{}')`
    const claim = `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
      VALUES ('system', $3, $4, $1, 'device', $2)`
    const statements = [
      { sql: device, params: [accountId, deviceId] },
      { sql: claim, params: [accountId, deviceId, 'number', '+14155550100'] },
      { sql: claim, params: [accountId, deviceId, 'sip_ip', '192.0.2.1'] },
    ]
    await db.write({ statements, stale: [] })
    await upgradeStorage(db, clock)
    const found = await createNumberStore(createStore(db, clock)).find(accountId, '+14155550100')
    expect(found).toMatchObject({ state: 'in_service', carrier: 'knm_mdn', usedBy: 'mobile' })
    expect(found?.doc).toEqual({
      mobile: { provider: 'local', authorizing: { 'account-id': accountId }, 'device-id': deviceId },
    })
    expect(found?.hidden).toEqual({ features: { local: {} }, deviceId })
    expect(JSON.parse(found?.rowText ?? '')).toEqual({
      state: 'in_service',
      features: ['local'],
      assigned_to: accountId,
      used_by: 'mobile',
      created: 63_900_000_000,
      updated: 63_900_000_000,
    })
    expect(await db.all('SELECT name FROM claims')).toEqual([{ name: 'sip_ip' }])
    await db.close()
    await place.remove()
  })
})
