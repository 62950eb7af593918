import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { type Upgrade, upgradeStorage, upgrades } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'

const clock = createTestClock()

const numbersOf = async (db: Database) =>
  (await db.all<{ number: number }>('SELECT number FROM storage_upgrades ORDER BY number')).map(
    ({ number }) => number,
  )

const known = upgrades.map(({ number }) => number)
const latest = known.at(-1) ?? 0

const further = (...statements: string[]): Upgrade => ({
  number: latest + 1,
  title: 'of a test',
  statements: () => statements,
})

describeEngines('storage upgrades', (engine) => {
  let place: Place
  let opened: Database[]

  const open = () => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    opened.push(db)
    return db
  }

  beforeEach(async () => {
    place = await makePlace(engine, { onOneServer: true })
    opened = []
  })

  afterEach(async () => {
    await Promise.all(opened.map((db) => db.close()))
    await place.remove()
  })

  it('are numbered without a gap', () => {
    expect(known).toEqual(known.map((_, index) => index + 1))
  })

  it('make a fresh store, and a second run finds nothing to do', async () => {
    const db = open()
    await upgradeStorage(db, clock)
    await upgradeStorage(db, clock)
    expect(await numbersOf(db)).toEqual(known)
    expect(await db.all('SELECT * FROM records')).toEqual([])
  })

  it('happen once when several processes start together', async () => {
    const dbs = Array.from({ length: engine === 'postgres' ? 4 : 1 }, open)
    await Promise.all(dbs.map((db) => upgradeStorage(db, clock)))
    expect(await numbersOf(open())).toEqual(known)
  })

  it('bring an older store forward with what it holds', async () => {
    const db = open()
    await upgradeStorage(db, clock)
    const insert =
      "INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id) VALUES ('a', 'b', 'c', 'd', 'e', 'f')"
    await db.write({ statements: [{ sql: insert, params: [] }], stale: [] })
    const newColumn = further("ALTER TABLE claims ADD COLUMN noted TEXT NOT NULL DEFAULT 'g'")
    await upgradeStorage(db, clock, [...upgrades, newColumn])
    expect(await numbersOf(db)).toEqual([...known, latest + 1])
    expect(await db.all('SELECT value, noted FROM claims')).toEqual([{ value: 'c', noted: 'g' }])
  })

  it('keep when scheduled jobs ran last, and which of them are running, under the new names', async () => {
    const db = open()
    await upgradeStorage(db, clock, upgrades.slice(0, 1))
    const lease = 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, 9)'
    await db.write({
      statements: [
        { sql: "INSERT INTO rounds (name, done_at) VALUES ('cdr-retention', 42)", params: [] },
        { sql: lease, params: ['round/mail', 'a', '{}'] },
        { sql: lease, params: ['feed', 'b', '{}'] },
      ],
      stale: [],
    })
    await upgradeStorage(db, clock)
    expect(await numbersOf(db)).toEqual(known)
    expect(await db.all('SELECT name, done_at FROM scheduled_jobs ORDER BY name')).toEqual([
      { name: 'cdr-retention', done_at: 42 },
      { name: 'quantities', done_at: 0 },
    ])
    expect(await db.all('SELECT name, token, holder, expires_at FROM leases ORDER BY name')).toEqual([
      { name: 'feed', token: 'b', holder: '{}', expires_at: 9 },
      { name: 'scheduled-job/mail', token: 'a', holder: '{}', expires_at: 9 },
    ])
  })

  it('are undone whole when one fails', async () => {
    const db = open()
    const failing = further('CREATE TABLE half (a TEXT)', 'CREATE TABLE half (a TEXT)')
    await expect(upgradeStorage(db, clock, [...upgrades, failing])).rejects.toThrow(/half/)
    await upgradeStorage(db, clock)
    expect(await numbersOf(db)).toEqual(known)
    await expect((async () => db.all('SELECT * FROM half'))()).rejects.toThrow(/half/)
  })

  it('refuse a store that a newer version has upgraded', async () => {
    const db = open()
    await upgradeStorage(db, clock, [...upgrades, further('CREATE TABLE newer (a TEXT)')])
    await expect(upgradeStorage(open(), clock)).rejects.toThrow(
      `the store is at upgrade ${latest + 1}, this version supports ${latest}: run a newer Crosspoint`,
    )
  })
})
