import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMigrationStore } from '../../src/areas/migrations/store.ts'
import type { Database, Value } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { longRuns } from '../../src/storage/upgrades/0021-long-runs.ts'
import { upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/databases.ts'

const accountId = 'a'.repeat(32)
const targets = ['b', 'c', 'd'].map((letter) => letter.repeat(32))
const author = { requestId: 'r1', authUserId: 'u1' }
const performer = { auth_account_id: accountId, auth_account_name: 'Says "hello"' }

const asked = {
  account_id: accountId,
  migration: 'recount_services',
  include_descendants: 1,
  include_resellers: 0,
  author: JSON.stringify(author),
  performer: JSON.stringify(performer),
  requested: 63_962_513_035,
  total: 5,
}

const ordered = {
  author,
  performer,
  includesDescendants: true,
  includesResellers: false,
  requested: 63_962_513_035,
  total: 5,
}

describeEngines('migrations of an older store', (engine) => {
  const clock = createTestClock()
  let place: Place
  let db: Database

  beforeEach(async () => {
    place = await makePlace(engine, { onOneServer: true })
    db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    await upgradeStorage(db, clock, upgrades.slice(0, upgrades.indexOf(longRuns)))
  })

  afterEach(async () => {
    await db.close()
    await place.remove()
  })

  const insert = (table: string, row: Record<string, Value>) => {
    const places = Object.keys(row).map((_, index) => `$${index + 1}`)
    const sql = `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`
    return db.write({ statements: [{ sql, params: Object.values(row) }], stale: [] })
  }

  const upgraded = async () => {
    await upgradeStorage(db, clock)
    return createMigrationStore(createStore(db, clock))
  }

  it('that are under way go on where they stand, in the middle of an account too', async () => {
    const [first = '', second = '', third = ''] = targets
    const halfDone = { accountId: third, position: '202601', changed: 2, problem: 'Some "text", or other' }
    const progress = {
      started: 63_962_513_040,
      performed: 2,
      failed: 1,
      skipped: 1,
      changed: 7,
      turn: 3,
      place: second,
      step: JSON.stringify(halfDone),
    }
    await insert('migration_runs', { ...asked, id: '01', ...progress })
    for (const target of [accountId, first])
      await insert('migration_outcomes', {
        account_id: accountId,
        run_id: '01',
        target_id: target,
        problem: '',
      })
    const problem = 'number exists: "+1", \n again'
    await insert('migration_outcomes', { account_id: accountId, run_id: '01', target_id: second, problem })
    const books = await upgraded()
    const run = await books.runs.latest(accountId, 'recount_services')
    expect(run).toEqual({
      accountId,
      id: '01',
      kind: 'migration',
      subject: 'recount_services',
      state: 'executing',
      since: (63_962_513_035 - 62_167_219_200) * 1000,
      node: '',
      done: 3,
      succeeded: 2,
      failed: 1,
      position: expect.any(String),
      outParts: 2,
      failedParts: 1,
      held: '1',
      workedMs: 0,
      detail: ordered,
    })
    expect(JSON.parse(run?.position ?? '')).toEqual({
      place: second,
      turn: 3,
      started: 63_962_513_040,
      skipped: 1,
      changed: 7,
      halfDone,
    })
    if (!run) return
    expect(await books.performedBy(run, 10)).toEqual([accountId, first])
    expect(await books.failures(run, 10)).toEqual([{ account_id: second, message: problem }])
    expect(await books.runs.someExecuting(10)).toEqual(['01'])
  })

  it('are told as before: the last run of each, ended or not begun', async () => {
    await insert('migration_runs', { ...asked, id: '01', ended: 63_962_513_050, started: 63_962_513_040 })
    await insert('migration_runs', { ...asked, id: '02', ended: 63_962_513_060, started: 63_962_513_055 })
    await insert('migration_runs', { ...asked, id: '03', migration: 'repair_used_by' })
    const books = await upgraded()
    expect(await books.runs.latest(accountId, 'recount_services')).toMatchObject({
      id: '02',
      state: 'ended',
      since: (63_962_513_060 - 62_167_219_200) * 1000,
      position: '{"place":"","turn":0,"skipped":0,"changed":0,"started":63962513055}',
    })
    expect(await books.runs.latest(accountId, 'repair_used_by')).toMatchObject({
      id: '03',
      state: 'executing',
      position: '{"place":"","turn":0,"skipped":0,"changed":0}',
    })
    expect(await books.runs.run({ accountId, id: '01' })).toBeUndefined()
  })
})
