import type { Failure } from '../lib/failure.ts'
import type { Statement, UnrecordedStore } from './db.ts'
import { integer, json, type RowOf, table, text } from './table.ts'

/** Distinguishes processes of a machine, as far as the system reports it. */
export interface Birth {
  boot: string
  namespace: string
  started: string
}

export interface Holder {
  host: string
  pid: number
  /** Unique for each start. */
  process: string
  birth?: Birth
}

const leases = table('leases', {
  name: text(),
  /** Unique for each acquisition: guards of earlier holders fail. */
  token: text(),
  holder: json<Holder>(),
  /** Unix milliseconds. */
  expiresAt: integer(),
})

const leaseHolderRow = leases.pick('token', 'holder', 'expiresAt')

export type LeaseRow = RowOf<typeof leaseHolderRow>

const takeFree = leases.insert('ON CONFLICT DO NOTHING')

/** The name of the lease of a scheduled job starts with it. */
export const scheduleLeases = 'scheduled-job/'

const scheduledJobs = table('scheduled_jobs', { name: text(), doneAt: integer() })
const putScheduledJob = scheduledJobs.upsert('name')

type OrElse = () => Failure

/** Rows of jobs/leases.ts. */
export const createLeaseRows = ({ all, writeUnrecorded, writeAlone }: UnrecordedStore) => ({
  async find(name: string): Promise<LeaseRow | undefined> {
    return leaseHolderRow.first(
      await all(`SELECT ${leaseHolderRow.columns} FROM leases WHERE name = $1`, [name]),
    )
  },

  /** Replaces `before`, or takes a free lease; the second one fails. */
  put(name: string, lease: LeaseRow, before: LeaseRow | undefined, orElse: OrElse) {
    const { token, holder, expiresAt } = lease
    const expect = { rows: 1, orElse }
    return writeUnrecorded([
      before
        ? {
            sql: 'UPDATE leases SET token = $2, holder = $3, expires_at = $4 WHERE name = $1 AND token = $5',
            params: [name, token, JSON.stringify(holder), expiresAt, before.token],
            expect,
          }
        : takeFree({ name, ...lease }, expect),
    ])
  },

  /** Alone, to avoid deadlocks with other rows. */
  renew: (name: string, token: string, expiresAt: number, orElse: OrElse) =>
    writeAlone([
      {
        sql: 'UPDATE leases SET expires_at = $3 WHERE name = $1 AND token = $2',
        params: [name, token, expiresAt],
        expect: { rows: 1, orElse },
      },
    ]),

  /** Fails if the holder changed, and keeps the lease until the transaction ends. */
  guard: (name: string, token: string, orElse: OrElse): Statement => ({
    sql: 'UPDATE leases SET token = token WHERE name = $1 AND token = $2',
    params: [name, token],
    expect: { rows: 1, orElse },
  }),

  remove: (name: string, token: string) =>
    writeUnrecorded([{ sql: 'DELETE FROM leases WHERE name = $1 AND token = $2', params: [name, token] }]),
})

/** Unix milliseconds; 0 for never. */
export const createScheduleRows = ({ all, writeUnrecorded }: UnrecordedStore) => ({
  async doneAt(name: string): Promise<number> {
    const rows = await all(`SELECT ${scheduledJobs.columns} FROM scheduled_jobs WHERE name = $1`, [name])
    return scheduledJobs.first(rows)?.doneAt ?? 0
  },

  /** Fails with the guard's failure if another process runs the job. */
  done: (name: string, doneAt: number, guard: Statement) =>
    writeUnrecorded([guard, putScheduledJob({ name, doneAt })]),
})
