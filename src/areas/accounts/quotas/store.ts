import { fileKinds } from '../../../lib/file-kinds.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, placeholders, shape } from '../../../storage/table.ts'

const sums = shape({ sum: integer() })

// Phone numbers have their own table.
const numberKind = 'number'

export const createQuotaStore = ({ scan, words }: Store) => ({
  /** Counts records of a kind, up to `atMost`. */
  async count(accountId: string, kind: string, atMost: number): Promise<number> {
    const [rows, params] =
      kind === numberKind
        ? ["numbers WHERE account_id = $2 AND account_id <> ''", [accountId]]
        : ['records WHERE account_id = $2 AND kind = $3', [accountId, kind]]
    const sql = `SELECT CAST(count(*) AS BIGINT) AS sum FROM (SELECT 1 FROM ${rows} LIMIT $1) AS counted`
    return sums.first(await scan(sql, [atMost, ...params]))?.sum ?? 0
  },

  async fileBytes(accountId: string): Promise<number> {
    const size = words.integerIn('doc', 'size')
    const sql = `SELECT CAST(COALESCE(sum(${size}), 0) AS BIGINT) AS sum FROM records
      WHERE account_id = $1 AND kind IN (${placeholders(fileKinds.length, 2)})`
    return sums.first(await scan(sql, [accountId, ...fileKinds]))?.sum ?? 0
  },
})
