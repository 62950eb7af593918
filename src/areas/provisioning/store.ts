import { type ChangeSet, conflict } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import { integer, type RowOf, table, text } from '../../storage/table.ts'

const queue = table('provisionings', {
  accountId: text(),
  deviceId: text(),
  mac: text('mac_address'),
  /** Failures since the service took it last. */
  failures: integer(),
  /** Moves with every change of the phone: what was told is done with only if nothing has changed since. */
  marks: integer(),
})

/** A phone of which the service has to be told. */
export type Waiting = RowOf<typeof queue>

const sameMarks = 'account_id = $1 AND device_id = $2 AND marks = $3'
const decided = { rows: 1, orElse: conflict }

export const createProvisioningStore = ({ all }: Store) => ({
  /** Has the service told, from now on. */
  queue: (set: ChangeSet, accountId: string, deviceId: string, mac: string, now: number) =>
    set.run(
      `INSERT INTO provisionings (account_id, device_id, mac_address, due_at, failures, marks)
        VALUES ($1, $2, $3, $4, 0, 1)
        ON CONFLICT (account_id, device_id) DO UPDATE SET
          mac_address = excluded.mac_address, due_at = excluded.due_at, marks = provisionings.marks + 1`,
      [accountId, deviceId, mac, now],
    ),

  async due(nowUnixMs: number, limit: number): Promise<Waiting[]> {
    return queue.list(
      await all(`SELECT ${queue.columns} FROM provisionings WHERE due_at <= $1 ORDER BY due_at LIMIT $2`, [
        nowUnixMs,
        limit,
      ]),
    )
  },

  done: (set: ChangeSet, { accountId, deviceId, marks }: Waiting) =>
    set.run(`DELETE FROM provisionings WHERE ${sameMarks}`, [accountId, deviceId, marks], decided),

  failed: (set: ChangeSet, { accountId, deviceId, marks }: Waiting, dueAt: number) =>
    set.run(
      `UPDATE provisionings SET failures = failures + 1, due_at = $4 WHERE ${sameMarks}`,
      [accountId, deviceId, marks, dueAt],
      decided,
    ),
})
