// Where tables lie on a distributed engine is declared of every table there is.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allTables, marksTable, tablesThatLie } from '../../src/storage/distribution/placements.ts'
import { openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'

const tables = `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
  AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`

const keysWithoutAccount = `SELECT c.relname AS name, i.indexrelid::regclass::text AS index FROM pg_index i
  JOIN pg_class c ON c.oid = i.indrelid
  WHERE i.indisunique AND c.relname = ANY(string_to_array($1, ' ')) AND NOT EXISTS (
    SELECT 1 FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND a.attnum = ANY(i.indkey::smallint[]))`

describe.runIf(engines.includes('postgres'))('The place of tables on a distributed engine', () => {
  let store: TestDatabase

  beforeAll(async () => {
    store = await openTestDatabase('postgres')
  })

  afterAll(() => store.close())

  it('is declared of each table of an upgraded store, and of no other', async () => {
    const rows = await store.db.all<{ name: string }>(tables)
    const found = rows.map(({ name }) => name).filter((name) => name !== marksTable)
    expect(found.sort()).toEqual(allTables.toSorted())
  })

  it('lets every unique key hold on one worker', async () => {
    expect(await store.db.all(keysWithoutAccount, [tablesThatLie('by_account').join(' ')])).toEqual([])
  })
})
