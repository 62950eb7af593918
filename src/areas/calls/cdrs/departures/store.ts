import type { Statement } from '../../../../storage/db.ts'
import { readingAgain } from '../../../../storage/monthly.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, shape } from '../../../../storage/table.ts'
import type { ArchiveRegister } from '../archive/store.ts'
import { tallyTurn } from '../stats/store.ts'

const counted = shape({ legs: integer() })

/** Rows that go in one transaction, and what removes them. */
interface Erasure {
  records: number
  statements: readonly Statement[]
}

// The embedded store has one writer: nobody waits for long behind so many.
const rowsAtOnce = 1000

/** What an account has left behind in call records and their statistics, to be removed some at a time. */
export const createDeletedAccountStore = (store: Store, register: ArchiveRegister) => {
  const { cdrs, words } = store

  const countOf = async (from: string, accountId: string) => {
    const rows = await store.scan(
      `SELECT count(*) AS legs FROM (SELECT 1 FROM ${from} WHERE account_id = $1 LIMIT ${rowsAtOnce}) AS found`,
      [accountId],
    )
    return counted.first(rows)?.legs ?? 0
  }

  const removalOf = (table: string, key: string, accountId: string): Statement => ({
    sql: `DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE account_id = $1 LIMIT ${rowsAtOnce})`,
    params: [accountId],
  })

  const nextRecords = async (accountId: string): Promise<Erasure | undefined> => {
    for (const month of await cdrs.months()) {
      const records = await readingAgain(() =>
        cdrs.read({ first: month, last: month }, (from) => countOf(from, accountId)),
      )
      if (records > 0)
        return {
          records,
          statements: [removalOf(cdrs.tableOf(month), 'account_id, id', accountId), cdrs.noteChange(month)],
        }
    }
    return undefined
  }

  const nextArchived = async (accountId: string): Promise<Erasure | undefined> => {
    const month = await register.monthOf(accountId)
    if (month === undefined) return undefined
    const records = await register.countOf(accountId, month)
    return { records, statements: register.leave(accountId, month) }
  }

  const nextTallies = async (accountId: string): Promise<Erasure | undefined> => {
    if ((await countOf('cdr_tallies', accountId)) === 0) return undefined
    const turn = tallyTurn(words)
    const key = 'account_id, dimension, seconds, group_value, start'
    const removal = removalOf('cdr_tallies', key, accountId)
    return { records: 0, statements: turn ? [turn, removal] : [removal] }
  }

  return {
    /** Undefined: nothing is left. */
    next: async (accountId: string): Promise<Erasure | undefined> =>
      (await nextRecords(accountId)) ?? (await nextArchived(accountId)) ?? nextTallies(accountId),
  }
}
