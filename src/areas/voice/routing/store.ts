import type { Store } from '../../../storage/store.ts'
import { integer, json, oneOf, optional, type RowOf, table, text } from '../../../storage/table.ts'
import { type CallPrice, trunks } from './offnet.rules.ts'

const runningCalls = table('running_calls', {
  accountId: text(),
  ordinal: integer(),
  /** ID that the edge assigned to the call. */
  id: text(),
  callId: text(),
  direction: oneOf(['inbound', 'outbound']),
  billing: text(),
  trunk: optional(oneOf(trunks)),
  /** Only of calls that are paid by the minute. */
  price: optional(json<CallPrice>()),
  /** Unix milliseconds. Undefined: it rings. */
  answeredAt: optional(integer()),
  /** Last report of its edge. */
  seenAt: integer(),
  /** When the event about missing credit was emitted. */
  toldAt: optional(integer()),
})

export type RunningCall = RowOf<typeof runningCalls>

const insert = runningCalls.insert('ON CONFLICT DO NOTHING')

export const createRunningStore = ({ all }: Store) => ({
  insert,

  async of(accountId: string): Promise<RunningCall[]> {
    const rows = await all(
      `SELECT ${runningCalls.columns} FROM running_calls WHERE account_id = $1 ORDER BY ordinal`,
      [accountId],
    )
    return runningCalls.list(rows)
  },

  seen: ({ accountId, ordinal, id, answeredAt, seenAt }: RunningCall) => ({
    sql: 'UPDATE running_calls SET answered_at = $4, seen_at = $5 WHERE account_id = $1 AND ordinal = $2 AND id = $3',
    params: [accountId, ordinal, id, answeredAt ?? null, seenAt],
  }),

  told: ({ accountId, ordinal, id }: RunningCall, at: number) => ({
    sql: 'UPDATE running_calls SET told_at = $4 WHERE account_id = $1 AND ordinal = $2 AND id = $3',
    params: [accountId, ordinal, id, at],
  }),

  removal: ({ accountId, id }: Pick<RunningCall, 'accountId' | 'id'>) => ({
    sql: 'DELETE FROM running_calls WHERE account_id = $1 AND id = $2',
    params: [accountId, id],
  }),
})
