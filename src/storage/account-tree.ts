import { keyset } from './table.ts'

interface TreePage {
  /** Which rows of the tree, of the table `t`: what stands behind WHERE. */
  where: string
  /** Columns of `t` that it is ordered by. */
  keys: readonly string[]
  descending: boolean
  limit: string
}

/**
 * Selects from the accounts `r` of a page of the tree `t`, of which the keys can be selected too. The page is cut out first:
 * joined at once, PostgreSQL takes the conditions on one id for independent ones, expects a handful of rows, and sorts all
 * accounts instead of walking along the index. Nor is the record looked for by its id as well, though that is the account's:
 * PostgreSQL concludes that both columns must be equal, which it takes for rare, and reads all records to find the few.
 */
export const accountsOfTreeSql = (selected: string, { where, keys, descending, limit }: TreePage) => {
  const { order } = keyset(keys, descending)
  const columns = [...new Set([...keys, 't.account_id'])].join(', ')
  return `SELECT ${selected} FROM (
      SELECT ${columns} FROM account_tree t WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    ) t
    JOIN records r ON r.account_id = t.account_id AND r.kind = 'account'
    ORDER BY ${order}`
}
