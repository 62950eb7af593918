import type { Json } from '../../../lib/json.ts'
import { zip } from '../../../lib/list.ts'
import { kind, recordColumns, type StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { accountsOfTreeSql, keyset, shape, text } from '../../../storage/table.ts'
import type { SearchQuery, SearchType } from './rules.ts'

interface SearchPage {
  /** The parent account of accounts, or the account of users and devices. */
  accountId: string
  prefix: string
  after?: readonly [string, string]
  limit: number
  descending: boolean
  long?: boolean
}

export interface Hit {
  key: string
  record: StoredRecord<Json, Json>
}

const found = shape({ foundBy: text() })

const anyKind = kind('any')

/** After all texts with this prefix. */
const endOf = (prefix: string) => `${prefix}\u{10ffff}`

const accountColumns = { name: 't.name_key', realm: 't.realm_key', id: 't.account_id' } as const

type AccountField = keyof typeof accountColumns

type Params = (string | number)[]

/** `after` replaces one bound of the prefix. */
const rangeOf = (key: readonly [string, ...string[]], page: SearchPage, params: Params) => {
  const { prefix, after, descending } = page
  const [column] = key
  const mark = (value: string | number) => `$${params.push(value)}`
  const behind = () => {
    const places = key.map((_, at) => mark(after?.[at] ?? ''))
    return `(${key.join(', ')}) ${descending ? '<' : '>'} (${places.join(', ')})`
  }
  // A key of another search means the first page.
  const isBehind = after?.[0].startsWith(prefix) === true
  const lower = isBehind && !descending ? behind() : `${column} >= ${mark(prefix)}`
  const upper = isBehind && descending ? behind() : `${column} < ${mark(endOf(prefix))}`
  return { where: `${lower} AND ${upper}`, limit: mark(page.limit) }
}

const accountQuery = (field: AccountField, page: SearchPage) => {
  const column = accountColumns[field]
  const params: Params = [page.accountId]
  const keys = [column, 't.account_id'] as const
  const { where, limit } = rangeOf(keys, page, params)
  const sql = accountsOfTreeSql(`${column} AS "foundBy", ${recordColumns('r')}`, {
    where: `t.ancestor_id = $1 AND ${where}`,
    keys,
    descending: page.descending,
    limit,
  })
  return { sql, params }
}

const claimQuery = (claim: string, page: SearchPage) => {
  const params: Params = [page.accountId, claim]
  const { where, limit } = rangeOf(['c.value'], page, params)
  return {
    sql: `SELECT c.value AS "foundBy", ${recordColumns('r')} FROM claims c
      JOIN records r ON r.account_id = c.holder_account_id AND r.kind = c.kind AND r.id = c.record_id
      WHERE c.account_id = $1 AND c.name = $2 AND ${where}
      ORDER BY ${keyset(['c.value'], page.descending).order} LIMIT ${limit}`,
    params,
  }
}

/** Claims by type and field. */
const claimsOf: Readonly<Record<Exclude<SearchType, 'account'>, Readonly<Record<string, string>>>> = {
  user: { name: 'user_name', username: 'username' },
  device: { name: 'device_name' },
}

export type Search = ReturnType<typeof createSearch>

export const createSearch = (store: Store) => ({
  /** Sub-accounts, or users and devices of the account. */
  async find({ type, field, prefix }: SearchQuery, page: Omit<SearchPage, 'prefix'>): Promise<Hit[]> {
    const wanted = { ...page, prefix }
    const { sql, params } =
      type === 'account'
        ? accountQuery(field as AccountField, wanted)
        : claimQuery(claimsOf[type][field] as string, wanted)
    const rows = await (page.long ? store.scan(sql, params) : store.all(sql, params))
    const records = zip(found.list(rows), store.records.of(anyKind, rows))
    return Array.from(records, ([{ foundBy: key }, record]) => ({ key, record }))
  },
})
