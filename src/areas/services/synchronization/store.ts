import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'

/** An invoice that its bookkeeper does not know as it is now. Times in Unix milliseconds. */
export interface WaitingSync {
  accountId: string
  bookkeeper: string
  dueAt: number
  /** When it became so. */
  since: number
  attempts: number
  /** Moves with every change of the invoice. */
  marks: number
}

/** What became of a telling, for the audit entries that waited for it. */
export interface SyncNote {
  status: 'completed' | 'failed'
  outcome: object
}

const queueSql = `INSERT INTO service_syncs (account_id, bookkeeper, due_at, since, attempts, marks)
  VALUES ($1, $2, $3, $4, 0, 1)
  ON CONFLICT (account_id, bookkeeper) DO UPDATE SET marks = service_syncs.marks + 1`

const toWaiting = (row: Record<string, string | number | null>): WaitingSync => ({
  accountId: row.account_id as string,
  bookkeeper: row.bookkeeper as string,
  dueAt: row.due_at as number,
  since: row.since as number,
  attempts: row.attempts as number,
  marks: row.marks as number,
})

const columns = 'account_id, bookkeeper, due_at, since, attempts, marks'

export const createSyncStore = ({ all, writeUnrecorded }: Store) => ({
  /** Adds to the change set of a changed invoice that its bookkeeper has to be told. The first change sets the time. */
  queue: (set: ChangeSet, accountId: string, bookkeeper: string, dueAt: number, now: number) =>
    set
      .run(queueSql, [accountId, bookkeeper, dueAt, now])
      .record({ accountId, kind: 'service_sync', id: accountId, action: 'edited' }),

  /** Has it told at once, whether or not anything has changed. */
  hurry: (accountId: string, bookkeeper: string, now: number) =>
    writeUnrecorded([
      { sql: queueSql, params: [accountId, bookkeeper, now, now] },
      {
        sql: 'UPDATE service_syncs SET due_at = $3 WHERE account_id = $1 AND bookkeeper = $2',
        params: [accountId, bookkeeper, now],
      },
    ]),

  /** The audit entries that a telling is about: those that are there before the invoice is read. */
  claimEntries: ({ accountId, bookkeeper }: WaitingSync, syncId: string) =>
    writeUnrecorded([
      {
        sql: `UPDATE service_audit SET sync_id = $3
          WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending'`,
        params: [accountId, bookkeeper, syncId],
      },
    ]),

  noteEntries: ({ accountId, bookkeeper }: WaitingSync, syncId: string, { status, outcome }: SyncNote) => ({
    sql: `UPDATE service_audit SET status = $4, outcome = $5
      WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending' AND sync_id = $3`,
    params: [accountId, bookkeeper, syncId, status, JSON.stringify(outcome)],
  }),

  /** It is told; what has changed meanwhile is told next. */
  done: ({ accountId, bookkeeper, marks }: WaitingSync): Statement => ({
    sql: 'DELETE FROM service_syncs WHERE account_id = $1 AND bookkeeper = $2 AND marks = $3',
    params: [accountId, bookkeeper, marks],
  }),

  postpone: ({ accountId, bookkeeper }: WaitingSync, dueAt: number): Statement => ({
    sql: 'UPDATE service_syncs SET due_at = $3, attempts = attempts + 1 WHERE account_id = $1 AND bookkeeper = $2',
    params: [accountId, bookkeeper, dueAt],
  }),

  async of(accountId: string): Promise<WaitingSync[]> {
    const rows = await all(`SELECT ${columns} FROM service_syncs WHERE account_id = $1`, [accountId])
    return rows.map(toWaiting)
  },

  async due(nowUnixMs: number, limit: number): Promise<WaitingSync[]> {
    const rows = await all(
      `SELECT ${columns} FROM service_syncs WHERE due_at <= $1 ORDER BY due_at LIMIT $2`,
      [nowUnixMs, limit],
    )
    return rows.map(toWaiting)
  },
})
