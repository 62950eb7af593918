import { timedPlace } from '../lib/time-key.ts'
import type { Value } from './db.ts'
import type { Store } from './store.ts'
import { keyset } from './table.ts'

/** A page of an account's rows of some time. */
export interface TimePage {
  accountId: string
  /** Gregorian seconds, both inclusive. */
  from: number
  to: number
  after?: readonly [string, string]
  limit: number
  descending: boolean
  /** Part of a walk through many rows: read in a thread. */
  long: boolean
}

interface TimePageSource {
  select: string
  /** The column that orders rows of one second, and its value in a cursor. */
  mark: string
  markOf?(mark: string): Value
  /** Another column that must have this value. */
  only?: readonly [column: string, value: Value]
}

/** Reads rows in the order of `created` and the mark. */
export const readTimePage = (store: Pick<Store, 'all' | 'scan'>, source: TimePageSource, page: TimePage) => {
  const { select, mark, markOf = (text) => text, only } = source
  const { behind, order } = keyset(['created', mark], page.descending)
  const after = timedPlace(page.after)
  const params: Value[] = [page.accountId, page.from, page.to, page.limit]
  if (after) params.push(after.time, markOf(after.mark))
  const terms = ['account_id = $1', 'created BETWEEN $2 AND $3', ...(after ? [behind(5)] : [])]
  if (only) terms.push(`${only[0]} = $${params.push(only[1])}`)
  const sql = `${select} WHERE ${terms.join(' AND ')} ORDER BY ${order} LIMIT $4`
  return page.long ? store.scan(sql, params) : store.all(sql, params)
}
