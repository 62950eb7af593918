import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace } from '../support/databases.ts'

describeEngines('the books of an older store', (engine) => {
  it('keep the order in which they were shown, what was carried over first', async () => {
    const place = await makePlace(engine, { onOneServer: true })
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    const clock = createTestClock()
    await upgradeStorage(
      db,
      clock,
      upgrades.filter(({ number }) => number < 17),
    )
    const entry = `INSERT INTO ledger_entries (account_id, id, created, month, source_service, source_id, amount,
        usage_type, usage_quantity, usage_unit, for_account_id, available_before, doc)
      VALUES ($1, $2, $3, 202601, $4, '1', 1, 'x', 1, 'x', 'a', 0, '{}')`
    const transaction = `INSERT INTO transactions (account_id, id, created, type, status, amount, refunded,
        bookkeeper_type, attempts, due_at, doc)
      VALUES ($1, $2, 63900000000, 'sale', 'completed', 1, 0, 'http', 0, 0, '{}')`
    const statements = [
      { sql: entry, params: ['a', '202601-f', 63_900_000_000, 'X'] },
      { sql: entry, params: ['a', '202601-ledgers_monthly_rollover', 63_900_000_000, 'rollovers'] },
      { sql: entry, params: ['a', '202601-e', 63_900_000_001, 'X'] },
      { sql: entry, params: ['b', '202601-d', 63_900_000_000, 'X'] },
      { sql: "INSERT INTO ledger_balances (account_id, units, month) VALUES ('a', 3, 202601)", params: [] },
      { sql: transaction, params: ['a', '202601-2'] },
      { sql: transaction, params: ['a', '202601-1'] },
    ]
    await db.write({ statements, stale: [] })
    await upgradeStorage(db, clock)
    const madeAt = (63_900_000_000 - 62_167_219_200) * 1000
    expect(
      await db.all(
        'SELECT account_id, id, ordinal, made_at FROM ledger_entries ORDER BY account_id, ordinal',
      ),
    ).toEqual([
      { account_id: 'a', id: '202601-ledgers_monthly_rollover', ordinal: 1, made_at: madeAt },
      { account_id: 'a', id: '202601-f', ordinal: 2, made_at: madeAt },
      { account_id: 'a', id: '202601-e', ordinal: 3, made_at: madeAt + 1000 },
      { account_id: 'b', id: '202601-d', ordinal: 1, made_at: madeAt },
    ])
    expect(await db.all('SELECT entries FROM ledger_balances')).toEqual([{ entries: 3 }])
    expect(await db.all('SELECT id, place, made_at FROM transactions ORDER BY created, place')).toEqual([
      { id: '202601-1', place: '-202601-1', made_at: madeAt },
      { id: '202601-2', place: '-202601-2', made_at: madeAt },
    ])
    await db.close()
    await place.remove()
  })
})
