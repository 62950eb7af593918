import { expect, it } from 'vitest'
import { createLedgerStore } from '../../src/areas/billing/ledgers/store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { createStore } from '../../src/storage/store.ts'
import { planOf } from '../support/matchers/plans.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

describeEngines('Charges of a request', (engine) => {
  const place = sharedBySuite(
    () => openTestDatabase(engine, { onOneServer: true }),
    (opened) => opened.close(),
  )

  it('are found along an index that has them alone', async () => {
    const plans: string[] = []
    const { db } = place
    const all = async <R = Row>(sql: string, params?: readonly Value[]) => {
      plans.push(await planOf(db, sql, params))
      return db.all<R>(sql, params)
    }
    await createLedgerStore(createStore({ ...db, all }, systemClock)).ofRequest('a'.repeat(32), 'request')
    const index =
      engine === 'sqlite'
        ? /SEARCH ledger_entries USING INDEX ledger_entries_requests \(account_id=\? AND source_service=\? AND source_id>\? AND source_id<\?\)/
        : /Index Scan using ledger_entries_requests [\s\S]*Index Cond: .*account_id = .*source_service = .*source_id >= /
    expect(plans).toHaveLength(3)
    for (const one of plans) expect(one).toMatch(index)
  })
})
