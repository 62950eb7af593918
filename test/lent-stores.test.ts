// Databases that tests use one after the other.
import { Client } from 'pg'
import { expect, inject, it } from 'vitest'
import { lendStore } from './support/servers/lent-stores.ts'

const template = inject('postgresTemplate')

const onStore = async (url: string, statement: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(statement)
  await client.end()
  return rows
}

/** Runs these statements in the store of a test; returns its database and that of the next test. */
const usedBy = async (...statements: string[]) => {
  const first = await lendStore(template as string)
  for (const statement of statements) await onStore(first.url, statement)
  await first.db.close()
  first.giveBack()
  const next = await lendStore(template as string)
  const leases = await onStore(next.url, 'SELECT name FROM leases')
  await next.db.close()
  next.giveBack()
  return { isSame: next.url === first.url, leases }
}

const row = "INSERT INTO leases (name, token, holder, expires_at) VALUES ('left over', '', '', 0)"

it.runIf(template)('a database is used again, without the rows and tables of the test before', async () => {
  expect(await usedBy(row, 'CREATE TABLE more (id TEXT)')).toEqual({ isSame: true, leases: [] })
})

it.runIf(template).each([
  ['table', 'DROP TABLE number_pools'],
  ['column', 'ALTER TABLE leases ADD COLUMN more TEXT'],
  [
    'trigger',
    'CREATE TRIGGER more BEFORE UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
  ],
])('a database whose %s a test has changed is not used again', async (_part, statement) => {
  expect(await usedBy(row, statement)).toEqual({ isSame: false, leases: [] })
})
