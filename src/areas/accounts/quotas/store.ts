import { fileKinds } from '../../../lib/file-kinds.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, placeholders, shape } from '../../../storage/table.ts'

const sums = shape({ sum: integer() })

// Phone numbers have their own table.
const numberKind = 'number'

const countSql = (rows: string) =>
  `SELECT CAST(count(*) AS BIGINT) AS sum FROM (SELECT 1 FROM ${rows}) AS counted`

export const createQuotaStore = ({ scan, words }: Store) => ({
  /** Counts records of a kind, up to `atMost`. */
  async count(accountId: string, kind: string, atMost: number): Promise<number> {
    const found =
      kind === numberKind
        ? await scan(countSql("numbers WHERE account_id = $1 AND account_id <> '' LIMIT $2"), [
            accountId,
            atMost,
          ])
        : await scan(countSql('records WHERE account_id = $1 AND kind = $2 LIMIT $3'), [
            accountId,
            kind,
            atMost,
          ])
    return sums.first(found)?.sum ?? 0
  },

  async fileBytes(accountId: string): Promise<number> {
    const size = words.integerIn('doc', 'size')
    const sql = `SELECT CAST(COALESCE(sum(${size}), 0) AS BIGINT) AS sum FROM records
      WHERE account_id = $1 AND kind IN (${placeholders(fileKinds.length, 2)})`
    return sums.first(await scan(sql, [accountId, ...fileKinds]))?.sum ?? 0
  },
})
