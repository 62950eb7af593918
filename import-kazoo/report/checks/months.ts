import type { Check } from '../../../src/lib/check.ts'
import { databaseKindOf } from '../../documents/database-names.ts'
import { monthNotesIn } from '../../running/months.ts'
import { isVanished } from '../../running/store.ts'
import { type CheckTools, difference } from './told.ts'

/** The ledgers of months come to what their documents came to. */
export const checkMonths = ({ run, checked }: CheckTools): Check => ({
  name: 'months',
  async run(tell) {
    let seen = 0
    for await (const row of run.databases()) {
      const kind = databaseKindOf(row.name)
      if (kind.kind !== 'month' || isVanished(row) || !row.isWhole) continue
      const { book } = monthNotesIn(row)
      const found = await checked.booked(kind.accountId, Number(kind.month))
      const place = `ledger of account ${kind.accountId}, month ${kind.month}`
      // One that does not say what it begins with begins here with what was reckoned.
      const { moved, entries, carried = found.carried } = book
      if (found.carried !== carried)
        tell({ place, reason: difference('units carried over', carried, found.carried) })
      if (found.moved !== moved) tell({ place, reason: difference('units moved', moved, found.moved) })
      if (found.entries !== entries)
        tell({ place, reason: difference('entries that moved them', entries, found.entries) })
      seen += 1
    }
    return seen
  },
})
