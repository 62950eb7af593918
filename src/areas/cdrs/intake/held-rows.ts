import { assertThere, laidValues, type RowRoom } from '../../../storage/laid-rows.ts'
import { atHand, type LateRow } from '../../../storage/monthly.ts'
import { type CdrRow, storedColumns } from '../columns.ts'
import type { CountedLeg } from '../stats/rules.ts'

/** A row that waits to be written: what has to be known of it meanwhile, and the whole of it for whoever asks. */
export interface HeldRow extends CountedLeg, Pick<CdrRow, 'id'>, LateRow {}

const knownOf = (row: CdrRow): Omit<HeldRow, keyof LateRow> => ({
  account_id: row.account_id,
  id: row.id,
  created: row.created,
  owner_id: row.owner_id,
  call_direction: row.call_direction,
  hangup_cause: row.hangup_cause,
  authorizing_id: row.authorizing_id,
  duration_seconds: row.duration_seconds,
  billing_seconds: row.billing_seconds,
  cost: row.cost,
})

/** For rows that do not wait in company. */
export const asItIs = (row: CdrRow): HeldRow => ({ ...knownOf(row), ...atHand(row) })

/** Laid down in a room: no longer to be asked for when that is cleared. */
export const heldIn =
  (room: RowRoom) =>
  (row: CdrRow): HeldRow => {
    const laid = room.lay(row)
    if (!laid) return asItIs(row)
    const whole = () => {
      assertThere(laid)
      const values = laidValues(laid, storedColumns.length)
      return Object.fromEntries(storedColumns.map((name, at) => [name, values[at] as string | number | null]))
    }
    return { ...knownOf(row), laid, row: whole }
  }
