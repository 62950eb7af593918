// More accounts than a test could make one by one.
import type { Statement } from '../../../src/storage/db.ts'
import type { TestAccount, World } from './world.ts'

const atOnce = 25_000

/** Prefix of the names and realms of the accounts. */
export const memberName = (index: number) => `Member ${memberNumber(index)}`
const memberNumber = (index: number) => String(index).padStart(6, '0')

const numbersFrom = `WITH RECURSIVE n (i) AS
  (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($2 AS INTEGER))`

const number = 'substr(CAST(1000000 + i AS TEXT), 2)'
const ofMember = (column: string) => `replace(${column}, '${memberNumber(0)}', ${number})`
const memberId = `substr(CAST($3 AS TEXT), 1, 26) || ${number}`
const withId = (column: string) => `replace(${column}, $3, ${memberId})`

/** Copies of a newly created account, each with its own number. */
export const copies = (template: string, from: number, to: number): Statement[] =>
  [
    `INSERT INTO records
      (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json, tally)
      SELECT ${memberId}, kind, ${memberId}, owner_id, ${ofMember('sort_key')}, created, modified, revision,
        ${ofMember('doc')}, ${ofMember('hidden')}, ${withId(ofMember('row_json'))}, tally
        FROM n, records WHERE account_id = $3 AND kind = 'account'`,
    `INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key, name_key, realm_key)
      SELECT ${memberId}, ancestor_id, distance, ${ofMember('sort_key')}, ${ofMember('name_key')}, ${ofMember('realm_key')}
        FROM n, account_tree WHERE account_id = $3`,
    `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
      SELECT account_id, name, ${ofMember('value')}, ${memberId}, kind, ${memberId}
        FROM n, claims WHERE holder_account_id = $3 AND name IN ('account_name', 'realm')`,
  ].map((sql) => ({ sql: `${numbersFrom} ${sql}`, params: [from, to, template] }))

/** An account with this number of accounts directly below it. */
export const accountWithMany = async (world: World, count: number): Promise<TestAccount> => {
  const { store } = world.server
  const crowd = await world.account(world.reseller, { name: 'Crowd', realm: 'crowd.test' })
  const member = (index: number) =>
    world.account(crowd, { name: memberName(index), realm: `m${memberNumber(index)}.test` })
  const template = await member(0)
  const last = count - 1
  for (let from = 1; from < last; from += atOnce)
    await store.writeUnrecorded(copies(template.id, from, Math.min(from + atOnce, last)))
  await store.writeUnrecorded([
    {
      sql: `UPDATE records SET tally = tally + $2 WHERE kind = 'account' AND id IN
        (SELECT ancestor_id FROM account_tree WHERE account_id = $1)`,
      params: [template.id, last - 1],
    },
  ])
  // An account that is created by a request makes all processes read the counts of its ancestors again.
  await member(last)
  return crowd
}
