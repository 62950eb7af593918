import type { Failure } from '../lib/failure.ts'
import type { Holder } from './leases.ts'
import type { Store } from './store.ts'
import { integer, json, optional, type RowOf, table, text } from './table.ts'

/** A request's hold on its key: what is committed under it says so, in the same transaction. */
export interface KeyClaim {
  accountId: string
  key: string
  /** Another one for every try. */
  token: string
  /** Whether anything has been committed under it by this process. */
  hasCommitted: boolean
  /** Nothing of it is ever kept: whatever goes on in the author's name after the request is not part of it. */
  toJSON(): undefined
}

/** A change that a request made before its answer was lost. Told to its client, hence the names. */
export interface CommittedChange {
  account_id: string
  kind: string
  id: string
  action: string
}

const keys = table('idempotency_keys', {
  accountId: text(),
  key: text('idem_key'),
  token: text(),
  fingerprint: text(),
  holder: json<Holder>(),
  /** Unix milliseconds. */
  begunAt: integer(),
  /** Undefined while nothing is committed. */
  changes: optional(json<CommittedChange[]>()),
  /** The sealed answer, once it is known. */
  answer: optional(text()),
})

const known = keys.pick('token', 'fingerprint', 'holder', 'begunAt', 'changes', 'answer')

export type KeyRow = RowOf<typeof known>

const insert = keys
  .pick('accountId', 'key', 'token', 'fingerprint', 'holder', 'begunAt')
  .insert('ON CONFLICT DO NOTHING')

type OrElse = () => Failure

/** The rows behind http/judge/idempotency.ts. */
export const createKeyRows = ({ all, writeUnrecorded }: Store) => ({
  async find(accountId: string, key: string): Promise<KeyRow | undefined> {
    const sql = `SELECT ${known.columns} FROM idempotency_keys WHERE account_id = $1 AND idem_key = $2`
    return known.first(await all(sql, [accountId, key]))
  },

  /** The first request with a key; whoever comes second fails. */
  begin: (
    { accountId, key, token }: KeyClaim,
    { fingerprint, holder, begunAt }: Pick<KeyRow, 'fingerprint' | 'holder' | 'begunAt'>,
    orElse: OrElse,
  ) =>
    writeUnrecorded([insert({ accountId, key, token, fingerprint, holder, begunAt }, { rows: 1, orElse })]),

  /** Goes on where a request that died stood. Whatever it would still commit fails from now on. */
  takeOver: ({ accountId, key, token }: KeyClaim, before: KeyRow, holder: Holder, orElse: OrElse) =>
    writeUnrecorded([
      {
        sql: `UPDATE idempotency_keys SET token = $4, holder = $5
          WHERE account_id = $1 AND idem_key = $2 AND token = $3`,
        params: [accountId, key, before.token, token, JSON.stringify(holder)],
        expect: { rows: 1, orElse },
      },
    ]),

  keep: ({ accountId, key, token }: KeyClaim, answer: string) =>
    writeUnrecorded([
      {
        sql: 'UPDATE idempotency_keys SET answer = $4 WHERE account_id = $1 AND idem_key = $2 AND token = $3',
        params: [accountId, key, token, answer],
      },
    ]),

  /** Nothing was done under the key: it is as if the request had not been made. */
  release: ({ accountId, key, token }: KeyClaim) =>
    writeUnrecorded([
      {
        sql: `DELETE FROM idempotency_keys
          WHERE account_id = $1 AND idem_key = $2 AND token = $3 AND changes IS NULL`,
        params: [accountId, key, token],
      },
    ]),

  async anyOlderThan(unixMilliseconds: number): Promise<boolean> {
    const rows = await all('SELECT begun_at FROM idempotency_keys WHERE begun_at < $1 LIMIT 1', [
      unixMilliseconds,
    ])
    return rows.length > 0
  },

  forgetOlderThan: (unixMilliseconds: number) =>
    writeUnrecorded([
      { sql: 'DELETE FROM idempotency_keys WHERE begun_at < $1', params: [unixMilliseconds] },
    ]),
})
