import type { Failure } from '../lib/failure.ts'
import type { Statement, UnrecordedStore } from './db.ts'
import type { Holder } from './leases.ts'
import { json, optional, type RowOf, shape, text } from './table.ts'

/** A request's claim of its key: commits are marked with it in the same transaction. */
export interface KeyClaim {
  accountId: string
  /** The caller within the account: no one else knows the key. */
  asker: string
  key: string
  /** Unique for each attempt. */
  token: string
  fingerprint: string
  hasCommitted: boolean
  /** Never stored. */
  toJSON(): undefined
}

/** A change of a request whose response was lost. Clients see these names. */
export interface CommittedChange {
  account_id: string
  kind: string
  id: string
  action: string
}

export interface KeyHolder extends Holder {
  /** Unique for each start of a server. */
  server: string
  /** Unix milliseconds. After this other servers may take over. */
  until: number
}

const keyRow = shape({
  token: text(),
  fingerprint: text(),
  holder: json<KeyHolder>(),
  /** One list for each commit. */
  changes: optional<CommittedChange[]>({
    type: 'text',
    read: (lists) =>
      String(lists)
        .split('\n')
        .flatMap((list) => JSON.parse(list)),
  }),
  /** Sealed. */
  answer: optional(text()),
})

export type KeyRow = RowOf<typeof keyRow>

type OrElse = () => Failure

const maxChangesLength = 100_000

/** Fails if another attempt has taken over the key. */
export const markCommitted = (
  { accountId, asker, key, token }: KeyClaim,
  changes: readonly CommittedChange[],
  orElse: OrElse,
): Statement => ({
  sql: `UPDATE idempotency_keys
      SET changes = CASE WHEN changes IS NULL THEN $4
        WHEN length(changes) > ${maxChangesLength} THEN changes ELSE changes || $5 END
    WHERE account_id = $1 AND idem_key = $2 AND token = $3 AND asker = $6`,
  params: [accountId, key, token, JSON.stringify(changes), `\n${JSON.stringify(changes)}`, asker],
  expect: { rows: 1, orElse },
})

const holderText = (holder: KeyHolder) => JSON.stringify(holder)

const ofKey = 'account_id = $1 AND asker = $2 AND idem_key = $3'

/** A statement about the row of a claim: `$1` to `$4` are its key and token. */
const ofClaim = (
  { accountId, asker, key, token }: KeyClaim,
  sql: string,
  ...values: readonly string[]
): Statement => ({
  sql: `${sql} WHERE ${ofKey} AND token = $4`,
  params: [accountId, asker, key, token, ...values],
})

const holdBy = (claim: KeyClaim, holder: KeyHolder) =>
  ofClaim(claim, 'UPDATE idempotency_keys SET holder = $5', holderText(holder))

/** Rows of http/request/idempotency.ts. */
export const createKeyRows = ({ all, writeUnrecorded }: UnrecordedStore) => ({
  async find({ accountId, asker, key }: Pick<KeyClaim, 'accountId' | 'asker' | 'key'>) {
    const sql = `SELECT ${keyRow.columns} FROM idempotency_keys WHERE ${ofKey}`
    return keyRow.first(await all(sql, [accountId, asker, key]))
  },

  begin: (
    { accountId, asker, key, token, fingerprint }: KeyClaim,
    { holder, begunAt }: { holder: KeyHolder; begunAt: number },
    orElse: OrElse,
  ) =>
    writeUnrecorded([
      {
        sql: `INSERT INTO idempotency_keys (account_id, asker, idem_key, token, fingerprint, holder, begun_at)
          VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
        params: [accountId, asker, key, token, fingerprint, holderText(holder), begunAt],
        expect: { rows: 1, orElse },
      },
    ]),

  /** Further commits of the abandoned attempt fail, so read its changes after this. */
  takeOver(claim: KeyClaim, before: string, holder: KeyHolder, orElse: OrElse) {
    const taken = ofClaim(
      { ...claim, token: before },
      'UPDATE idempotency_keys SET token = $5, holder = $6',
      claim.token,
      holderText(holder),
    )
    return writeUnrecorded([
      { ...taken, sql: `${taken.sql} AND answer IS NULL`, expect: { rows: 1, orElse } },
    ])
  },

  renew: (claims: readonly KeyClaim[], holder: KeyHolder) =>
    writeUnrecorded(claims.map((claim) => holdBy(claim, holder))),

  keep: (claim: KeyClaim, answer: string) =>
    writeUnrecorded([ofClaim(claim, 'UPDATE idempotency_keys SET answer = $5', answer)]),

  /** Deletes the key if nothing was committed; otherwise others may continue. */
  letGo(claim: KeyClaim, holder: KeyHolder) {
    const removal = ofClaim(claim, 'DELETE FROM idempotency_keys')
    return writeUnrecorded([
      { ...removal, sql: `${removal.sql} AND changes IS NULL` },
      holdBy(claim, { ...holder, until: 0 }),
    ])
  },
})
