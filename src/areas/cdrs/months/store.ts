import type { Value } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, shape } from '../../../storage/table.ts'
import { type CdrRow, storedColumns } from '../columns.ts'

const counted = shape({ legs: integer() })
const rowsPerRead = 2000
const start: readonly [string, number, string] = ['', 0, '']

export const createCdrMonthStore = (store: Store) => ({
  months: store.cdrs.months,
  drop: store.cdrs.drop,

  /** How many legs a month has. */
  async count(month: number): Promise<number> {
    const rows = await store.cdrs.read({ first: month, last: month }, (from) =>
      store.scan(`SELECT count(*) AS legs FROM ${from}`),
    )
    return counted.first(rows)?.legs ?? 0
  },

  /** All legs of a month, of every account, in the order of their index. */
  async *legs(month: number): AsyncGenerator<CdrRow[]> {
    let after: readonly Value[] = start
    for (;;) {
      const rows = await store.cdrs.read({ first: month, last: month }, (from) =>
        store.scan<CdrRow>(
          `SELECT ${storedColumns.join(', ')} FROM ${from} WHERE (account_id, created, id) > ($1, $2, $3)
            ORDER BY account_id, created, id LIMIT $4`,
          [...after, rowsPerRead],
        ),
      )
      if (rows.length > 0) yield rows
      const last = rows.at(-1)
      if (!last || rows.length < rowsPerRead) return
      after = [last.account_id, last.created, last.id]
    }
  },
})
