import type { Failure } from '../lib/failure.ts'
import type { Statement } from './db.ts'
import type { Store } from './store.ts'

/** The process that holds a lease. */
export interface Holder {
  host: string
  pid: number
  /** Another one for every start. */
  process: string
}

export interface LeaseRow {
  /** Another one for every taking: a guard of an earlier holder fails. */
  token: string
  holder: Holder
  /** Unix milliseconds. */
  expiresAt: number
}

type OrElse = () => Failure

/** The rows behind jobs/leases.ts. */
export const createLeaseRows = ({ all, writeUnrecorded }: Store) => ({
  async find(name: string): Promise<LeaseRow | undefined> {
    const [row] = await all('SELECT token, holder, expires_at FROM leases WHERE name = $1', [name])
    return (
      row && {
        token: row.token as string,
        holder: JSON.parse(row.holder as string) as Holder,
        expiresAt: row.expires_at as number,
      }
    )
  },

  /** Takes the place of `before`, or the free place; whoever comes second fails. */
  put(name: string, { token, holder, expiresAt }: LeaseRow, before: LeaseRow | undefined, orElse: OrElse) {
    const expect = { rows: 1, orElse }
    const place = [name, token, JSON.stringify(holder), expiresAt]
    return writeUnrecorded([
      before
        ? {
            sql: 'UPDATE leases SET token = $2, holder = $3, expires_at = $4 WHERE name = $1 AND token = $5',
            params: [...place, before.token],
            expect,
          }
        : {
            sql: 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
            params: place,
            expect,
          },
    ])
  },

  renew: (name: string, token: string, expiresAt: number, orElse: OrElse) =>
    writeUnrecorded([
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
export const createRoundRows = ({ all, writeUnrecorded }: Store) => ({
  async doneAt(name: string): Promise<number> {
    const [row] = await all('SELECT done_at FROM rounds WHERE name = $1', [name])
    return (row?.done_at as number | undefined) ?? 0
  },

  done: (name: string, at: number) =>
    writeUnrecorded([
      {
        sql: `INSERT INTO rounds (name, done_at) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at`,
        params: [name, at],
      },
    ]),
})
