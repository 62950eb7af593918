import { dayMs, daySeconds, gregorianNow } from '../lib/gregorian.ts'
import { timeKey } from '../lib/time-key.ts'
import { authSettings, eventSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import { eventAction } from '../storage/audit-log.ts'
import { cacheKey, type Statement } from '../storage/db.ts'
import { baseStoredMs, isBase, isNoBase } from '../storage/entry-docs.ts'
import type { SignInBuckets } from '../storage/sign-in-buckets.ts'
import type { Store } from '../storage/store.ts'
import { shape, text } from '../storage/table.ts'
import { deleteOldRows, type ScheduledJob } from './scheduler.ts'

const recordsAtOnce = 200
const feedRowsAtOnce = 1000
const accountsPerPass = 200

/** Kinds in the index `records_passing`. */
type PassingKind = 'login_attempt' | 'revoked_token'

/** Tables with one or a few rows for each account. */
const companions = ['balance_watch', 'charged_items', 'payer_turns', 'topups'] as const

const recordIds = shape({ accountId: text(), id: text() })
const orphans = shape({ accountId: text() })

const between = 'sequence > $1 AND sequence <= $2'

const putMark = (name: string, sequence: number): Statement => ({
  sql: `INSERT INTO feed_marks (name, sequence) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE feed_marks.sequence < excluded.sequence`,
  params: [name, sequence],
})

const createRetentionStore = (store: Store) => {
  const markOf = async (name: string) => {
    const [row] = await store.all('SELECT sequence FROM feed_marks WHERE name = $1', [name])
    return Number(row?.sequence ?? 0)
  }

  /** The last sequence before a time, from `first` on. Sequences follow times except for moments. */
  const lastBefore = async (unixMs: number, first: number) => {
    let [low, high] = [first, await newest()]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const [row] = await store.all(
        'SELECT at FROM audit_log WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence DESC LIMIT 1',
        [low, middle],
      )
      if (row && Number(row.at) >= unixMs) high = middle - 1
      else low = middle
    }
    return low
  }

  const newest = async () => {
    const [row] = await store.all(
      'SELECT sequence FROM audit_log WHERE sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1',
    )
    return Number(row?.sequence ?? 0)
  }

  /** Deletes event data up to a sequence. The mark stores the progress. */
  const tidy = async (
    { mark, which, until }: { mark: string; which: string; until: number },
    signal: AbortSignal,
  ) => {
    let from = await markOf(mark)
    while (from < until && !signal.aborted) {
      const to = Math.min(until, from + feedRowsAtOnce)
      const params = [from, to]
      await store.writeUnrecorded([
        { sql: `DELETE FROM feed_below WHERE ${between}`, params },
        // Entries without digest were removed from the audit: they were only kept as events.
        {
          sql: `DELETE FROM audit_log WHERE (action = '${eventAction}' OR digest IS NULL) AND ${which} AND ${between}`,
          params,
        },
        // For created and deleted records the audit keeps the whole record.
        {
          sql: `UPDATE audit_log SET base_id = NULL, before_doc = CASE WHEN changes IS NULL THEN before_doc END,
              after_doc = CASE WHEN changes IS NULL THEN after_doc END
            WHERE (changes IS NOT NULL OR base_id IS NOT NULL) AND ${which} AND ${between}`,
          params,
        },
        putMark(mark, to),
      ])
      from = to
    }
  }

  return {
    /** Deletes records of a kind below a sort key, from caches too. */
    async forgetRecords(kind: PassingKind, before: string, signal: AbortSignal) {
      // The condition must equal that of the partial index.
      const sql = `SELECT account_id AS "accountId", id FROM records WHERE kind IN ('login_attempt', 'revoked_token')
      AND kind = $1 AND sort_key < $2 ORDER BY sort_key LIMIT ${recordsAtOnce}`
      while (!signal.aborted) {
        const old = recordIds.list(await store.all(sql, [kind, before]))
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

    /**
     * Deletes event data before a time in Unix milliseconds. The mark is set first, so that readers never see a part.
     */
    async forgetEvents(before: number, signal: AbortSignal) {
      const mark = await markOf('forgotten')
      const until = await lastBefore(before, mark)
      if (until > mark) await store.writeUnrecorded([putMark('forgotten', until)])
      await tidy({ mark: 'tidied', which: isNoBase, until }, signal)
      const oldest = await lastBefore(before - baseStoredMs, await markOf('tidied_bases'))
      await tidy({ mark: 'tidied_bases', which: isBase, until: oldest }, signal)
    },

    /** Deletes rows of deleted accounts. */
    async forgetOrphans(signal: AbortSignal) {
      for (const table of companions) {
        let after = ''
        while (!signal.aborted) {
          const sql = `SELECT DISTINCT t.account_id AS "accountId" FROM ${table} t WHERE t.account_id > $1
          AND NOT EXISTS (SELECT 1 FROM records r
            WHERE r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id)
          ORDER BY t.account_id LIMIT ${accountsPerPass}`
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
  }
}

// Retention of what no area owns.

const hourSeconds = 3600

export const retentionJobs = (
  store: Store,
  settings: Settings,
  signInBuckets: SignInBuckets | undefined,
): ScheduledJob[] => {
  const rows = createRetentionStore(store)
  const { clock } = store

  return [
    {
      name: 'login attempts',
      everySeconds: hourSeconds,
      async run(signal) {
        const { login_attempt_days: days } = await settings.of(authSettings)
        await rows.forgetRecords('login_attempt', timeKey(gregorianNow(clock) - days * daySeconds), signal)
      },
    },
    {
      name: 'ended tokens',
      everySeconds: hourSeconds,
      // Sorted by the Unix seconds of their expiry.
      run: (signal) =>
        rows.forgetRecords('revoked_token', String(Math.floor(clock.now() / 1000)).padStart(16, '0'), signal),
    },
    {
      name: 'sign-in buckets',
      everySeconds: hourSeconds,
      run: async (signal) => signInBuckets?.forgetFull(signal),
    },
    {
      name: 'events',
      everySeconds: daySeconds,
      async run(signal) {
        const { events_retention_days: days } = await settings.of(eventSettings)
        if (days > 0) await rows.forgetEvents(clock.now() - days * dayMs, signal)
      },
    },
    {
      name: 'leftovers',
      everySeconds: daySeconds,
      async run(signal) {
        await rows.forgetOrphans(signal)
      },
    },
    deleteOldRows(store, {
      name: 'old leases',
      everySeconds: daySeconds,
      table: 'leases',
      key: ['name'],
      where: 'expires_at < $1',
      before: () => clock.now() - dayMs,
    }),
  ]
}
