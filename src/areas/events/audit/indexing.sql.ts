import { createMark } from '../../../events/marks.sql.ts'
import type { ScheduledJob } from '../../../jobs/rounds.ts'
import { emitEvent } from '../../../storage/audit-log.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'

/** By what the index finds entries, and the column that says it. */
export const subjects = {
  record: { prefix: 'r/', column: 'record_id' },
  actor: { prefix: 'a/', column: 'actor_id' },
} as const

export type Subject = keyof typeof subjects

const isEntry = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${emitEvent}'`

/** The rows of the index that belong to the entries that a condition names. */
const rowsWhere = (condition: string) =>
  Object.values(subjects)
    .map(
      ({ prefix, column }) =>
        `SELECT account_id, '${prefix}' || ${column} AS about, sequence FROM audit_log
          WHERE ${condition} AND ${column} IS NOT NULL AND ${isEntry}`,
    )
    .join(' UNION ALL ')

/** Takes entries out of the index, before they are taken out of the audit. */
export const dropFromIndex = (condition: string, params: Statement['params']): Statement => ({
  sql: `DELETE FROM audit_index WHERE (account_id, about, sequence) IN (${rowsWhere(condition)})`,
  params,
})

export const createAuditIndexStore = ({ all, writeUnrecorded }: Store) => ({
  /** The sequence up to which entries are in the index. */
  indexed: createMark({ all }, 'audit_index').read,

  /** The last of so many rows behind a sequence; undefined when there are not so many. */
  async endOf(after: number, count: number): Promise<number | undefined> {
    const [row] = await all(
      `SELECT sequence FROM audit_log WHERE sequence > $1 ORDER BY sequence LIMIT 1 OFFSET ${count - 1}`,
      [after],
    )
    return row && Number(row.sequence)
  },

  /** Puts what lies behind one sequence, up to another, into the index: sorted, so that pages are written once. */
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

// So many rows are indexed by one write, and as many may wait: what is not in the index is looked through.
const atOnce = 1000

/** Keeps the index of records and actors behind the entries. */
export const createAuditIndexing = ({ store }: { store: Store }) => {
  const rows = createAuditIndexStore(store)

  const nextEnd = async () => {
    const begin = await rows.indexed()
    const end = await rows.endOf(begin, atOnce)
    return end === undefined ? undefined : { begin, end }
  }

  const round: ScheduledJob = {
    name: 'audit index',
    everySeconds: 2,
    due: async () => (await nextEnd()) !== undefined,
    async run(signal, guard) {
      for (let next = await nextEnd(); next && !signal.aborted; next = await nextEnd())
        await rows.add(next.begin, next.end, guard)
    },
  }

  return { round }
}
