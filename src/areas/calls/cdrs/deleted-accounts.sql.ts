import type { AccountRecord } from '../../../auth/identity.ts'
import type { JobKind } from '../../../jobs/queue.ts'
import { dayMs } from '../../../lib/gregorian.ts'
import { type Author, ChangeSet, systemScope } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import { readingAgain } from '../../../storage/monthly.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, shape } from '../../../storage/table.ts'
import type { AreaDeps } from '../../area.ts'
import type { ArchiveRegister } from './archive/store.ts'
import { changedLegs } from './parts.sql.ts'
import { callRecordSettings } from './settings.ts'
import { tallyTurn } from './stats/store.ts'

const countedRows = shape({ legs: integer() })

/** Rows that are deleted in one transaction. */
interface Erasure {
  records: number
  statements: readonly Statement[]
}

// SQLite has one writer: other writes wait for one such transaction at most.
const rowsPerDeletion = 1000

/** Call records and statistics of a deleted account, deleted in batches. */
export const createDeletedAccountStore = ({ cdrs, words, scan }: Store, register: ArchiveRegister) => {
  const countOf = async (from: string, accountId: string) => {
    const sql = `SELECT count(*) AS legs FROM
      (SELECT 1 FROM ${from} WHERE account_id = $1 LIMIT ${rowsPerDeletion}) AS found`
    return countedRows.first(await scan(sql, [accountId]))?.legs ?? 0
  }

  const removalOf = (table: string, key: string, accountId: string): Statement => ({
    sql: `DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE account_id = $1 LIMIT ${rowsPerDeletion})`,
    params: [accountId],
  })

  return {
    /** Undefined if nothing is left. */
    async next(accountId: string): Promise<Erasure | undefined> {
      for (const month of await cdrs.months()) {
        const range = { first: month, last: month }
        const records = await readingAgain(() => cdrs.read(range, (from) => countOf(from, accountId)))
        const removal = removalOf(cdrs.tableOf(month), 'account_id, id', accountId)
        if (records > 0) return { records, statements: [removal, cdrs.noteChange(month)] }
      }
      const month = await register.monthOf(accountId)
      if (month !== undefined) {
        const records = await register.countOf(accountId, month)
        return { records, statements: register.leave(accountId, month) }
      }
      if ((await countOf('cdr_tallies', accountId)) === 0) return undefined
      const key = 'account_id, dimension, seconds, group_value, start'
      const turn = tallyTurn(words)
      const removal = removalOf('cdr_tallies', key, accountId)
      return { records: 0, statements: turn ? [turn, removal] : [removal] }
    },
  }
}

// Each batch is committed with the count so far, so that another process can continue.

interface DeletionProgress {
  author: Author
  /** Time of the deletion, Unix milliseconds. */
  left: number
  /** Records deleted so far. */
  records: number
}

const deletedCallsKind = 'departed_calls'
// Lets other writes pass. A million records take about 90 minutes.
const deletionPauseMs = 1000

interface Deps extends Pick<AreaDeps, 'store' | 'settings'> {
  register: ArchiveRegister
}

export const createDeletedAccountCalls = ({ store, settings, register }: Deps) => {
  const { clock } = store
  const rows = createDeletedAccountStore(store, register)

  /** The audit entry for operators. */
  const noteOf = (accountId: string, { author, records }: DeletionProgress) =>
    new ChangeSet(author).record({
      accountId: systemScope,
      kind: 'cdrs',
      id: accountId,
      action: 'deleted',
      before: JSON.stringify({ account_id: accountId, records }),
    })

  const kind: JobKind<DeletionProgress> = {
    kind: deletedCallsKind,
    maxConcurrent: 1,
    async conclude({ accountId, payload }) {
      const now = clock.now()
      const { departed_account_days: days } = await settings.of(callRecordSettings)
      const goes = payload.left + days * dayMs
      // Checked daily: the operator may change the setting.
      if (now < goes) return { state: 'waiting', dueAt: Math.min(goes, now + dayMs), payload }
      const erasure = await rows.next(accountId)
      if (!erasure) {
        const sets = payload.records > 0 ? [noteOf(accountId, payload)] : []
        return { state: 'done', outcome: `${payload.records} call records were removed`, sets }
      }
      const records = payload.records + erasure.records
      const next = { dueAt: now + deletionPauseMs, payload: { ...payload, records } }
      return { state: 'waiting', ...next, statements: erasure.statements, stale: [changedLegs(accountId)] }
    },
  }

  return {
    kind,

    /** Schedules the deletion of an account's call records in the change set that deletes the account. */
    async begin(set: ChangeSet, { id: accountId }: AccountRecord) {
      const left = clock.now()
      const payload: DeletionProgress = { author: set.author, left, records: 0 }
      set.job({ kind: deletedCallsKind, id: accountId, accountId, dueAt: left + dayMs, payload })
    },
  }
}
