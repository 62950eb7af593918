import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'

/** The bookkeeper of an account. */
export interface SyncedInvoice {
  accountId: string
  bookkeeper: string
}

/** What became of a telling, for the audit entries that waited for it. */
export interface SyncNote {
  status: 'completed' | 'failed'
  outcome: object
}

export const createSyncStore = ({ writeUnrecorded }: Store) => ({
  /** The audit entries that a telling is about: those that are there before the invoice is read. */
  claimEntries: ({ accountId, bookkeeper }: SyncedInvoice, syncId: string) =>
    writeUnrecorded([
      {
        sql: `UPDATE service_audit SET sync_id = $3
          WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending'`,
        params: [accountId, bookkeeper, syncId],
      },
    ]),

  noteEntries: (
    { accountId, bookkeeper }: SyncedInvoice,
    syncId: string,
    { status, outcome }: SyncNote,
  ): Statement => ({
    sql: `UPDATE service_audit SET status = $4, outcome = $5
      WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending' AND sync_id = $3`,
    params: [accountId, bookkeeper, syncId, status, JSON.stringify(outcome)],
  }),
})
