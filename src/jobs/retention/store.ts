// What is left over in tables of several areas, and in those that nobody owns.
import { cacheKey } from '../../storage/db.ts'
import { forgetRows } from '../../storage/forgetting.ts'
import type { Store } from '../../storage/store.ts'
import { shape, text } from '../../storage/table.ts'

const recordsAtOnce = 200
const feedRowsAtOnce = 1000
const accountsAtOnce = 200

/** Kinds of records that go by themselves, by their sort keys: see upgrade 25. */
export type PassingKind = 'login_attempt' | 'revoked_token'

/** What tells of every change, an account's entries in the order of their ids. */
export type Feed = 'audit_log' | 'outbox'

/** Tables of one or a few rows for an account. */
const companions = ['balance_watch', 'charged_items', 'payer_turns', 'topups'] as const

const places = shape({ accountId: text(), id: text() })
const firsts = shape({ accountId: text(), first: text() })
const orphans = shape({ accountId: text() })

// Jumps from account to account along the primary key.
const oldestOf = (feed: Feed) => `SELECT account_id AS "accountId", (SELECT min(f.id) FROM ${feed} f
      WHERE f.account_id = places.account_id) AS "first"
  FROM (WITH RECURSIVE jumps (account_id, place) AS (
      SELECT (SELECT min(account_id) FROM ${feed} WHERE account_id > $1), 1
      UNION ALL
      SELECT (SELECT min(f.account_id) FROM ${feed} f WHERE f.account_id > jumps.account_id), place + 1
        FROM jumps WHERE jumps.account_id IS NOT NULL AND place < $2
    ) SELECT account_id FROM jumps) AS places
  WHERE account_id IS NOT NULL ORDER BY account_id`

export const createRetentionStore = (store: Store) => ({
  /** Removes the records of a kind whose sort key comes before another; for caches they are gone as well. */
  async forgetRecords(kind: PassingKind, before: string, signal: AbortSignal) {
    // The condition of the partial index stands here word for word, or it would not be used.
    const sql = `SELECT account_id AS "accountId", id FROM records WHERE kind IN ('login_attempt', 'revoked_token')
      AND kind = $1 AND sort_key < $2 ORDER BY sort_key LIMIT ${recordsAtOnce}`
    while (!signal.aborted) {
      const old = places.list(await store.all(sql, [kind, before]))
      if (old.length === 0) return
      await store.writeUnrecorded(
        old.map(({ accountId, id }) => ({
          sql: 'DELETE FROM records WHERE account_id = $1 AND kind = $2 AND id = $3',
          params: [accountId, kind, id],
        })),
        old.map(({ accountId, id }) => cacheKey(accountId, kind, id)),
      )
    }
  },

  /** Removes the entries of all accounts whose ids come before another: ids grow with time. */
  async forgetFeed(feed: Feed, before: string, signal: AbortSignal) {
    const remove = `DELETE FROM ${feed} WHERE account_id = $1 AND id IN
      (SELECT id FROM ${feed} WHERE account_id = $1 AND id < $2 ORDER BY id LIMIT ${feedRowsAtOnce})`
    const isAnyLeft = async (accountId: string) =>
      (
        await store.scan(`SELECT 1 AS one FROM ${feed} WHERE account_id = $1 AND id < $2 LIMIT 1`, [
          accountId,
          before,
        ])
      ).length > 0
    let after = ''
    while (!signal.aborted) {
      const accounts = firsts.list(await store.scan(oldestOf(feed), [after, accountsAtOnce]))
      for (const { accountId, first } of accounts) {
        if (first >= before) continue
        while (!signal.aborted && (await isAnyLeft(accountId)))
          await store.writeUnrecorded([{ sql: remove, params: [accountId, before] }])
      }
      const last = accounts.at(-1)
      if (!last) return
      after = last.accountId
    }
  },

  /** Removes what stands beside accounts that are gone. */
  async forgetOrphans(signal: AbortSignal) {
    for (const table of companions) {
      let after = ''
      while (!signal.aborted) {
        const sql = `SELECT DISTINCT t.account_id AS "accountId" FROM ${table} t WHERE t.account_id > $1
          AND NOT EXISTS (SELECT 1 FROM records r
            WHERE r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id)
          ORDER BY t.account_id LIMIT ${accountsAtOnce}`
        const gone = orphans.list(await store.scan(sql, [after]))
        const last = gone.at(-1)
        if (!last) break
        await store.writeUnrecorded(
          gone.map(({ accountId }) => ({
            sql: `DELETE FROM ${table} WHERE account_id = $1`,
            params: [accountId],
          })),
        )
        after = last.accountId
      }
    }
  },

  /** Leases of processes that died, and of work that is long done. */
  forgetLeases: (expiredBefore: number, signal: AbortSignal) =>
    forgetRows(
      store,
      { table: 'leases', key: ['name'], where: 'expires_at < $1', params: [expiredBefore] },
      signal,
    ),
})
