import { failure } from '../../../../lib/failure.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { oneOf, type RowOf, table, text } from '../../../../storage/table.ts'
import { bookedAlready } from '../../ledgers/failures.ts'

const disputes = table('payment_disputes', {
  vendorId: text(),
  id: text(),
  accountId: text(),
  /** While it is `open`, the money is gone. */
  state: oneOf(['open', 'won', 'lost']),
})
const insertDispute = disputes.insert('ON CONFLICT DO NOTHING')

type DisputeRow = RowOf<typeof disputes>
export type DisputeState = DisputeRow['state']

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
    const sql = `SELECT ${disputes.columns} FROM payment_disputes WHERE vendor_id = $1 AND id = $2`
    return disputes.first(await all(sql, [vendorId, id]))
  },

  /** Fails as a conflict if another transaction has moved it. */
  moveDispute(set: ChangeSet, before: DisputeState | undefined, dispute: DisputeRow) {
    const { vendorId, id, accountId, state } = dispute
    const expect = { rows: 1, orElse: conflict }
    if (before === undefined) set.add(insertDispute(dispute, expect))
    else
      set.run(
        'UPDATE payment_disputes SET state = $4 WHERE vendor_id = $1 AND id = $2 AND account_id = $3 AND state = $5',
        [vendorId, id, accountId, state, before],
        expect,
      )
    set.record({ accountId, kind: 'payment_dispute', id, action: before ? 'edited' : 'created' })
  },
})
