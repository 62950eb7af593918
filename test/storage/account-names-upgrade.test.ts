// Claims of account names in an older store.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const idOf = (index: number) => `${index}`.padStart(32, '0')

// Name, claim of the older store, claim after the upgrade; {id} is the account's id.
const accounts = [
  ['My Co.', 'myco', 'myco'],
  ['राम', 'रम', 'राम'],
  ['रमा', 'रम/{id}', 'रमा'],
  ['Café', 'café', 'café'],
  ['Cafe\u0301', 'cafe', 'café/{id}'],
  ['Twin', 'twin', 'twin'],
  ['twin', 'twin/{id}', 'twin/{id}'],
  ['***', '', ''],
] as const

describeEngines('account names of an older store', (engine) => {
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

  it('are claimed with their combining marks and in NFC by the upgrade', async () => {
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 39),
    )
    const record = `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
      VALUES ($1, 'account', $1, '', '', 1, 1, 'old', $2, $3, '{}')`
    const claim = `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
      VALUES ('system', 'account_name', $2, $1, 'account', $1)`
    const statements = accounts.flatMap(([name, before], index) => {
      const id = idOf(index)
      const nameClaim = before.replace('{id}', id)
      const hidden = JSON.stringify({ nameClaim, kept: index })
      return [
        { sql: record, params: [id, JSON.stringify({ name }), hidden] },
        { sql: claim, params: [id, nameClaim] },
      ]
    })
    await db.write({ statements, stale: [] })
    await upgradeStorage(db, clock)
    const expected = accounts.map(([, , after], index) => after.replace('{id}', idOf(index)))
    const claims = await db.all(
      "SELECT value FROM claims WHERE name = 'account_name' ORDER BY holder_account_id",
    )
    expect(claims.map(({ value }) => value)).toEqual(expected)
    const hidden = await db.all('SELECT hidden FROM records ORDER BY account_id')
    expect(hidden.map((row) => JSON.parse(String(row.hidden)))).toEqual(
      expected.map((nameClaim, kept) => ({ nameClaim, kept })),
    )
  })
})
