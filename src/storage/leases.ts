import type { Failure } from '../lib/failure.ts'
import type { Statement, UnrecordedStore } from './db.ts'
import { integer, json, type RowOf, table, text } from './table.ts'

/** What tells a process from all others of its machine, where the system says it. */
export interface Birth {
  boot: string
  /** Where its number counts. */
  namespace: string
  started: string
}

/** The process that holds a lease. */
export interface Holder {
  host: string
  pid: number
  /** Another one for every start. */
  process: string
  birth?: Birth
}

const leases = table('leases', {
  name: text(),
  /** Another one for every taking: a guard of an earlier holder fails. */
  token: text(),
  holder: json<Holder>(),
  /** Unix milliseconds. */
  expiresAt: integer(),
})

const held = leases.pick('token', 'holder', 'expiresAt')

export type LeaseRow = RowOf<typeof held>

const takeFree = leases.insert('ON CONFLICT DO NOTHING')

const rounds = table('rounds', { name: text(), doneAt: integer() })
const putRound = rounds.upsert('name')

type OrElse = () => Failure

/** The rows behind jobs/leases.ts. */
export const createLeaseRows = ({ all, writeUnrecorded, writeAlone }: UnrecordedStore) => ({
  async find(name: string): Promise<LeaseRow | undefined> {
    return held.first(await all(`SELECT ${held.columns} FROM leases WHERE name = $1`, [name]))
  },

  /** Takes the place of `before`, or the free place; whoever comes second fails. */
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

  /** Alone: rows of others that are locked in the same transaction would be waited for in either order. */
  renew: (name: string, token: string, expiresAt: number, orElse: OrElse) =>
    writeAlone([
      {
        sql: 'UPDATE leases SET expires_at = $3 WHERE name = $1 AND token = $2',
        params: [name, token, expiresAt],
        expect: { rows: 1, orElse },
      },
    ]),

  /** Touches the row only if it is still this holder's; nobody takes it before the transaction ends. */
  guard: (name: string, token: string, orElse: OrElse): Statement => ({
    sql: 'UPDATE leases SET token = token WHERE name = $1 AND token = $2',
    params: [name, token],
    expect: { rows: 1, orElse },
  }),

  remove: (name: string, token: string) =>
    writeUnrecorded([{ sql: 'DELETE FROM leases WHERE name = $1 AND token = $2', params: [name, token] }]),
})

/** When a round was done last, in Unix milliseconds; 0 when it never was. */
export const createScheduleRows = ({ all, writeUnrecorded }: UnrecordedStore) => ({
  async doneAt(name: string): Promise<number> {
    const rows = await all(`SELECT ${rounds.columns} FROM rounds WHERE name = $1`, [name])
    return rounds.first(rows)?.doneAt ?? 0
  },

  /** Fails with the guard's failure where somebody else does the round by now. */
  done: (name: string, doneAt: number, guard: Statement) =>
    writeUnrecorded([guard, putRound({ name, doneAt })]),
})
