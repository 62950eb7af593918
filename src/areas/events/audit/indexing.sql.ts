import { createMark } from '../../../events/marks.sql.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { eventAction } from '../../../storage/audit-log.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'

/** Prefixes in the index, and the columns that they stand for. */
export const subjects = {
  record: { prefix: 'r/', column: 'record_id' },
  actor: { prefix: 'a/', column: 'actor_id' },
} as const

export type Subject = keyof typeof subjects

const isEntry = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${eventAction}'`

const rowsWhere = (condition: string) =>
  Object.values(subjects)
    .map(
      ({ prefix, column }) =>
        `SELECT account_id, '${prefix}' || ${column} AS about, sequence FROM audit_log
          WHERE ${condition} AND ${column} IS NOT NULL AND ${isEntry}`,
    )
    .join(' UNION ALL ')

export const dropFromIndex = (condition: string, params: Statement['params']): Statement => ({
  sql: `DELETE FROM audit_index WHERE (account_id, about, sequence) IN (${rowsWhere(condition)})`,
  params,
})

export const createAuditIndexStore = ({ all, writeUnrecorded }: Store) => ({
  /** The last indexed sequence. */
  indexed: createMark({ all }, 'audit_index').read,

  /** Undefined: there are fewer rows. */
  async endOf(after: number, count: number): Promise<number | undefined> {
    const [row] = await all(
      `SELECT sequence FROM audit_log WHERE sequence > $1 ORDER BY sequence LIMIT 1 OFFSET ${count - 1}`,
      [after],
    )
    return row && Number(row.sequence)
  },

  /** Sorted, so that each page is written once. */
  add: (after: number, end: number, guard: Statement) =>
    writeUnrecorded([
      guard,
      {
        sql: `INSERT INTO audit_index (account_id, about, sequence)
          SELECT account_id, about, sequence FROM (${rowsWhere('sequence > $1 AND sequence <= $2')}) AS found
            WHERE true ORDER BY account_id, about, sequence
          ON CONFLICT DO NOTHING`,
        params: [after, end],
      },
      createMark({ all }, 'audit_index').moveTo(end),
    ]),
})

// Rows of one write. As many may be missing from the index: they are read from the table.
const batchSize = 1000

export const createAuditIndexing = ({ store }: DepsOf<'store'>): ScheduledJob => {
  const rows = createAuditIndexStore(store)

  const nextEnd = async () => {
    const begin = await rows.indexed()
    const end = await rows.endOf(begin, batchSize)
    return end === undefined ? undefined : { begin, end }
  }

  return {
    name: 'audit index',
    everySeconds: 2,
    due: async () => (await nextEnd()) !== undefined,
    async run(signal, guard) {
      for (let next = await nextEnd(); next && !signal.aborted; next = await nextEnd())
        await rows.add(next.begin, next.end, guard)
    },
  }
}
