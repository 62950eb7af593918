// More phones than a test could make one by one.
import type { TestAccount, World } from './world.ts'

const number = 'substr(CAST(1000000 + i AS TEXT), 2)'
const first = '000000'
const numbered = (column: string) => `replace(${column}, '${first}', ${number})`

/** Gives an account this number of phones, `phone000000` and so on, each a copy of the first. */
export const giveMany = async (world: World, account: TestAccount, count: number) => {
  const sip = { username: `phone${first}`, password: 'correct-horse' }
  const { id } = await world.device(account, { name: `Phone ${first}`, sip })
  const copyId = `substr(CAST($2 AS TEXT), 1, 26) || ${number}`
  const numbers = `WITH RECURSIVE n (i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($1 AS INTEGER))`
  const copies = [
    `${numbers} INSERT INTO records
      (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json, tally)
      SELECT account_id, kind, ${copyId}, owner_id, ${numbered('sort_key')}, created, modified, revision,
        ${numbered('doc')}, hidden, replace(${numbered('row_json')}, $2, ${copyId}), tally
        FROM n, records WHERE kind = 'device' AND id = $2`,
    `${numbers} INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
      SELECT account_id, name, ${numbered('value')}, holder_account_id, kind, ${copyId}
        FROM n, claims WHERE record_id = $2 AND name = 'sip_username'`,
  ]
  await world.server.store.writeUnrecorded(copies.map((sql) => ({ sql, params: [count, id] })))
}
