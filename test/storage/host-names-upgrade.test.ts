// Host names of an older store.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const idOf = (index: number) => `${index}`.padStart(32, '0')

describeEngines('host names of an older store', (engine) => {
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

  it('are claimed in batches by the upgrade, those of carriers too, and brands stay visible', async () => {
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 38),
    )
    const sql = `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ($1, $2, $3, '', '', 1, 1, 'old', $4, '{"kept":1}', '{}')`
    const stored = (accountId: string, kind: string, id: string, doc: object) => ({
      sql,
      params: [accountId, kind, id, JSON.stringify(doc)],
    })
    const accounts = Array.from({ length: 501 }, (_, index) =>
      stored(idOf(index), 'account', idOf(index), { name: 'x', realm: `R${index}.Sip.Test` }),
    )
    const gateways = [{ server: 'Gate.Carrier.test.', proxy: '::FFFF:198.51.100.7' }]
    const carrier = { name: 'Carrier', gateways, inbound_ips: ['198.51.100.64/28'] }
    const carriers = [
      stored('system', 'resource', idOf(901), carrier),
      stored(idOf(9), 'resource', idOf(902), carrier),
    ]
    const brands = [
      stored(idOf(7), 'whitelabel', 'whitelabel', {
        domain: 'https://BÜRO.test/',
        conference_public_domain: 'meet.test.',
      }),
      stored(idOf(8), 'whitelabel', 'whitelabel', { company_name: 'Acme' }),
      stored(idOf(8), 'user', idOf(900), { domain: 'other.test', realm: 'other.test' }),
    ]
    await db.write({ statements: [...accounts, ...brands, ...carriers], stale: [] })
    await upgradeStorage(db, clock)
    const rows = await db.all(
      "SELECT account_id, value, holder_account_id, kind, record_id FROM claims WHERE name = 'host_name' ORDER BY value",
    )
    expect(rows).toHaveLength(503)
    const claimOf = (value: string, kind: string, id: string) => ({
      account_id: 'system',
      value,
      holder_account_id: idOf(7),
      kind,
      record_id: id,
    })
    expect(rows.filter(({ holder_account_id: id }) => id === idOf(7))).toEqual([
      claimOf(`test.meet/${idOf(7)}/conference`, 'whitelabel', 'whitelabel'),
      claimOf(`test.sip.r7/${idOf(7)}/realm`, 'account', idOf(7)),
      claimOf(`test.xn--bro-hoa/${idOf(7)}/domain`, 'whitelabel', 'whitelabel'),
    ])
    const claimed = await db.all(
      "SELECT value, holder_account_id FROM claims WHERE name = 'carrier_host' ORDER BY value",
    )
    expect(claimed).toEqual(
      ['198.51.100.64/28', '198.51.100.7', 'gate.carrier.test'].flatMap((host) => [
        { value: `${host}/${idOf(901)}`, holder_account_id: 'system' },
        { value: `${host}/${idOf(902)}`, holder_account_id: idOf(9) },
      ]),
    )
    const hidden = await db.all(
      "SELECT hidden FROM records WHERE kind <> 'account' OR id = $1 ORDER BY account_id, kind, id",
      [idOf(6)],
    )
    expect(hidden.map((row) => JSON.parse(String(row.hidden)))).toEqual([
      { kept: 1 },
      { kept: 1, confirmedHosts: ['xn--bro-hoa.test', 'meet.test'] },
      { kept: 1 },
      { kept: 1 },
      { kept: 1, operatorHosts: ['gate.carrier.test', '198.51.100.7'] },
      { kept: 1 },
    ])
  })
})
