import { failure } from '../../../../lib/failure.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { bookedAlready } from '../../ledgers/failures.ts'

/** While it is `open`, the money is gone. */
export type DisputeState = 'open' | 'won' | 'lost'

interface DisputeRow {
  vendorId: string
  id: string
  accountId: string
  state: DisputeState
}

export const createGatewayEventStore = ({ all }: Store) => ({
  /** Refuses an event that is already stored. */
  take: (set: ChangeSet, vendorId: string, id: string, at: number) =>
    set
      .run(
        'INSERT INTO payment_events (vendor_id, id, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [vendorId, id, at],
        { rows: 1, orElse: () => failure(bookedAlready, {}) },
      )
      .record({ accountId: vendorId, kind: 'payment_event', id, action: 'created' }),

  async dispute(vendorId: string, id: string): Promise<DisputeRow | undefined> {
    const [row] = await all<{ accountId: string; state: DisputeState }>(
      'SELECT account_id AS "accountId", state FROM payment_disputes WHERE vendor_id = $1 AND id = $2',
      [vendorId, id],
    )
    return row && { vendorId, id, accountId: row.accountId, state: row.state }
  },

  /** Fails as a conflict if another transaction has moved it. */
  moveDispute(
    set: ChangeSet,
    before: DisputeState | undefined,
    { vendorId, id, accountId, state }: DisputeRow,
  ) {
    const sql = before
      ? 'UPDATE payment_disputes SET state = $4 WHERE vendor_id = $1 AND id = $2 AND account_id = $3 AND state = $5'
      : `INSERT INTO payment_disputes (vendor_id, id, account_id, state) VALUES ($1, $2, $3, $4)
          ON CONFLICT DO NOTHING`
    const params = [vendorId, id, accountId, state, ...(before ? [before] : [])]
    set
      .run(sql, params, { rows: 1, orElse: conflict })
      .record({ accountId, kind: 'payment_dispute', id, action: before ? 'edited' : 'created' })
  },
})
