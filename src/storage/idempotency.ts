import type { Failure } from '../lib/failure.ts'
import type { Statement, UnrecordedStore } from './db.ts'
import type { Holder } from './leases.ts'

/** A request's hold on its key: what is committed under it says so, in the same transaction. */
export interface KeyClaim {
  accountId: string
  /** Who of the account asks, and how: nobody else knows the key. */
  asker: string
  key: string
  /** Another one for every try. */
  token: string
  /** What is asked under the key, as a digest. */
  fingerprint: string
  /** Whether it is known that anything has been committed under the key. */
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

/** The server that carries a request out. */
export interface KeyHolder extends Holder {
  /** Another one for every start, also of several servers in one process. */
  server: string
  /** Unix milliseconds: from then on other servers take the request for abandoned. */
  until: number
}

export interface KeyRow {
  token: string
  fingerprint: string
  holder: KeyHolder
  /** Undefined while nothing is committed. */
  changes: CommittedChange[] | undefined
  /** The sealed answer, once it is known. */
  answer: string | undefined
}

type OrElse = () => Failure

// A list for each commit of a request, of which there may be several.
const changesOf = (text: string) => text.split('\n').flatMap((list) => JSON.parse(list) as CommittedChange[])

// Beyond this a request has told enough of what it did.
const maxChangesLength = 100_000

/** Says under the key of a request what is committed for it; fails when another try has taken the key over. */
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

const holdBy = ({ accountId, asker, key, token }: KeyClaim, holder: KeyHolder): Statement => ({
  sql: `UPDATE idempotency_keys SET holder = $5
    WHERE account_id = $1 AND asker = $2 AND idem_key = $3 AND token = $4`,
  params: [accountId, asker, key, token, holderText(holder)],
})

/** The rows behind http/judge/idempotency.ts. */
export const createKeyRows = ({ all, writeUnrecorded }: UnrecordedStore) => ({
  async find({ accountId, asker, key }: Pick<KeyClaim, 'accountId' | 'asker' | 'key'>) {
    const [row] = await all(
      `SELECT token, fingerprint, holder, changes, answer FROM idempotency_keys
        WHERE account_id = $1 AND asker = $2 AND idem_key = $3`,
      [accountId, asker, key],
    )
    const found: KeyRow | undefined = row && {
      token: row.token as string,
      fingerprint: row.fingerprint as string,
      holder: JSON.parse(row.holder as string) as KeyHolder,
      changes: row.changes === null ? undefined : changesOf(row.changes as string),
      answer: (row.answer as string | null) ?? undefined,
    }
    return found
  },

  /** The first request with a key; whoever comes second fails. */
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

  /**
   * Goes on where an abandoned request stood. Whatever it would still commit fails from now on, so what it did commit
   * is to be read after this.
   */
  takeOver: ({ accountId, asker, key, token }: KeyClaim, before: string, holder: KeyHolder, orElse: OrElse) =>
    writeUnrecorded([
      {
        sql: `UPDATE idempotency_keys SET token = $5, holder = $6
          WHERE account_id = $1 AND asker = $2 AND idem_key = $3 AND token = $4 AND answer IS NULL`,
        params: [accountId, asker, key, before, token, holderText(holder)],
        expect: { rows: 1, orElse },
      },
    ]),

  /** Says that requests are still under way. */
  renew: (claims: readonly KeyClaim[], holder: KeyHolder) =>
    writeUnrecorded(claims.map((claim) => holdBy(claim, holder))),

  keep: ({ accountId, asker, key, token }: KeyClaim, answer: string) =>
    writeUnrecorded([
      {
        sql: `UPDATE idempotency_keys SET answer = $5
          WHERE account_id = $1 AND asker = $2 AND idem_key = $3 AND token = $4`,
        params: [accountId, asker, key, token, answer],
      },
    ]),

  /** Where nothing was done under the key it is as if the request had not been made; else anybody may go on. */
  letGo: (claim: KeyClaim, holder: KeyHolder) =>
    writeUnrecorded([
      {
        sql: `DELETE FROM idempotency_keys
          WHERE account_id = $1 AND asker = $2 AND idem_key = $3 AND token = $4 AND changes IS NULL`,
        params: [claim.accountId, claim.asker, claim.key, claim.token],
      },
      holdBy(claim, { ...holder, until: 0 }),
    ]),
})
