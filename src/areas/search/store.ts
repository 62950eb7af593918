import type { Json } from '../../lib/json.ts'
import { recordColumns, type StoredRecord, toRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'

export interface SearchPage {
  /** The account below which accounts are looked for, or in which users and devices are. */
  accountId: string
  prefix: string
  after?: readonly [string, string]
  limit: number
  descending: boolean
  long?: boolean
}

/** A record that was found, and the key it was found by. */
export interface Hit {
  key: string
  record: StoredRecord<Json, Json>
}

/** The end of everything that begins with `prefix`: no character comes after this one. */
const endOf = (prefix: string) => `${prefix}\u{10ffff}`

const accountColumns = { name: 't.name_key', realm: 't.realm_key', id: 't.account_id' } as const

export type AccountField = keyof typeof accountColumns

const orderOf = (descending: boolean) => (descending ? 'DESC' : 'ASC')
const sideOf = (descending: boolean) => (descending ? '<' : '>')

const accountSql = (field: AccountField, { after, descending }: SearchPage) => {
  const column = accountColumns[field]
  const order = orderOf(descending)
  const keyset = after ? `AND (${column}, t.account_id) ${sideOf(descending)} ($5, $6)` : ''
  return `SELECT ${column} AS found_by, ${recordColumns('r.')} FROM account_tree t
    JOIN records r ON r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id
    WHERE t.ancestor_id = $1 AND ${column} >= $2 AND ${column} < $3 ${keyset}
    ORDER BY ${column} ${order}, t.account_id ${order} LIMIT $4`
}

const claimSql = ({ after, descending }: SearchPage) => {
  const keyset = after ? `AND c.value ${sideOf(descending)} $6` : ''
  return `SELECT c.value AS found_by, ${recordColumns('r.')} FROM claims c
    JOIN records r ON r.account_id = c.holder_account_id AND r.kind = c.kind AND r.id = c.record_id
    WHERE c.account_id = $1 AND c.value >= $2 AND c.value < $3 AND c.name = $5 ${keyset}
    ORDER BY c.value ${orderOf(descending)} LIMIT $4`
}

export type SearchStore = ReturnType<typeof createSearchStore>

/** Index reads: what begins with a prefix, in the order of the index. */
export const createSearchStore = (store: Store) => {
  const read = async (
    sql: string,
    params: (string | number)[],
    long: boolean | undefined,
  ): Promise<Hit[]> => {
    const rows = await (long ? store.scan(sql, params) : store.all(sql, params))
    return rows.map((row) => ({ key: row.found_by as string, record: toRecord(row) }))
  }

  const bounds = ({ accountId, prefix, limit }: SearchPage) => [accountId, prefix, endOf(prefix), limit]

  return {
    accounts: (field: AccountField, page: SearchPage) =>
      read(accountSql(field, page), [...bounds(page), ...(page.after ?? [])], page.long),

    /** Records of an account by a name that they hold as a claim. */
    byClaim: (claim: string, page: SearchPage) =>
      read(claimSql(page), [...bounds(page), claim, ...(page.after?.slice(0, 1) ?? [])], page.long),
  }
}
