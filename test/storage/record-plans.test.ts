import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { deleteRecord, type StoredRecord, updateRecord } from '../../src/storage/records.ts'
import { createStore } from '../../src/storage/store.ts'
import { planOf } from '../support/matchers/plans.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

const columns = 'account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json'

const rowSql = `INSERT INTO records (${columns}) VALUES ($1, 'device', $2, '', $3, 1, 1, 'x', '{}', '{}', '{}')`

describeEngines('A record of an account that has grown since the database looked', (engine) => {
  const place = sharedBySuite(
    () => openTestDatabase(engine, { onOneServer: true }),
    (opened) => opened.close(),
  )

  const numbered = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => `${name}${String(index).padStart(5, '0')}`)

  beforeAll(async () => {
    await place.db.exclusively(async (run) => {
      for (const id of numbered(1500, 'small')) await run(rowSql, [id, id, id])
      await run('ANALYZE')
      for (const id of numbered(1500, 'one')) await run(rowSql, ['big', id, `name of ${id}`])
    })
  })

  const singled =
    engine === 'sqlite'
      ? /SEARCH records USING .*account_id=\? AND kind=\?.* AND id=\?/
      : /using records_pkey[\s\S]*Index Cond: .*AND \(id |using records_sorted[\s\S]*Index Cond: .*AND \(sort_key = .*AND \(id = /

  it('is found, changed and removed without reading others', async () => {
    const asked: { sql: string; params: readonly Value[] | undefined }[] = []
    const store = createStore(
      {
        ...place.db,
        all: async <R = Row>(sql: string, params?: readonly Value[]) => {
          asked.push({ sql, params })
          return place.db.all<R>(sql, params)
        },
      },
      systemClock,
    )
    const record = (await store.records.find('big', 'device', 'one00700')) as StoredRecord<object, object>
    expect(record.sortKey).toBe('name of one00700')
    expect(asked).toHaveLength(1)
    const changed = new ChangeSet({ requestId: 'test' })
    updateRecord(changed, record, record, { stored: record.docText, audited: undefined })
    const removed = new ChangeSet({ requestId: 'test' })
    deleteRecord(removed, record)
    const own = [...changed.statements, ...removed.statements].filter(({ sql }) => / records\b/.test(sql))
    expect(own).toHaveLength(2)
    for (const { sql, params } of [...asked, ...own])
      expect(await planOf(place.db, sql, params)).toMatch(singled)
  })
})
