import { pagesOf } from '../../../../lib/list.ts'
import { type ArchivedMonths, MonthMoved, readingAgain } from '../../../../storage/monthly.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, shape } from '../../../../storage/table.ts'
import { type CdrRow, storedColumns } from '../columns.ts'

const countedLegs = shape({ legs: integer() })
const rowsPerRead = 2000

export const createCdrMonthStore = (store: Store) => ({
  async count(month: number): Promise<number> {
    const rows = await readingAgain(() =>
      store.cdrs.read({ first: month, last: month }, (from) =>
        store.scan(`SELECT count(*) AS legs FROM ${from}`),
      ),
    )
    return countedLegs.first(rows)?.legs ?? 0
  },

  /**
   * All legs of a month ordered by account, time and id. Throws MonthMoved if the month is dropped or archived during
   * reading.
   */
  async *legs(month: number, archived?: ArchivedMonths): AsyncGenerator<CdrRow[]> {
    const range = { first: month, last: month, archived: archived ?? (await store.cdrs.archivedMonths()) }
    let wasThere = false
    yield* pagesOf<CdrRow>(rowsPerRead, (last) =>
      store.cdrs.read(range, (from, { length: present }) => {
        // The table is gone: this is not the end of the month.
        if (wasThere && present === 0) throw new MonthMoved(month)
        wasThere ||= present > 0
        const after = last ? [last.account_id, last.created, last.id] : ['', 0, '']
        return store.scan<CdrRow>(
          `SELECT ${storedColumns.join(', ')} FROM ${from} WHERE (account_id, created, id) > ($1, $2, $3)
            ORDER BY account_id, created, id LIMIT $4`,
          [...after, rowsPerRead],
        )
      }),
    )
  },
})
