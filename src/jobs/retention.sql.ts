import { createMark } from '../events/marks.sql.ts'
import { dayMs, daySeconds, gregorianNow } from '../lib/gregorian.ts'
import { timeKey } from '../lib/time-key.ts'
import { authSettings, eventSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import { eventAction } from '../storage/audit-log.ts'
import { cacheKey } from '../storage/db.ts'
import { baseStoredMs, isBase, isNoBase } from '../storage/entry-docs.ts'
import type { SignInBuckets } from '../storage/sign-in-buckets.ts'
import type { Store } from '../storage/store.ts'
import { shape, text } from '../storage/table.ts'
import { deleteOldRows, type ScheduledJob } from './scheduler.ts'

const recordsAtOnce = 200
const feedRowsAtOnce = 1000
const accountsPerPass = 200
const hourSeconds = 3600

/** Kinds in the index `records_passing`. */
type PassingKind = 'login_attempt' | 'revoked_token'

/** Tables with one or a few rows for each account. */
const companions = ['balance_watch', 'charged_items', 'payer_turns', 'topups'] as const

const recordIds = shape({ accountId: text(), id: text() })
const orphans = shape({ accountId: text() })

const between = 'sequence > $1 AND sequence <= $2'

/** Deletes records of a kind below a sort key, from caches too. */
const deleteRecords = async (store: Store, kind: PassingKind, before: string, signal: AbortSignal) => {
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
}

const createEventRetention = (store: Store) => {
  const [forgotten, tidied, tidiedBases] = [
    createMark(store, 'forgotten'),
    createMark(store, 'tidied'),
    createMark(store, 'tidied_bases'),
  ]

  const newest = async () => {
    const [row] = await store.all(
      'SELECT sequence FROM audit_log WHERE sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1',
    )
    return Number(row?.sequence ?? 0)
  }

  /** The last sequence before a time, from `first` on. Sequences follow times except for moments. */
  const lastBefore = async (unixMs: number, first: number) => {
    let [low, high] = [first, await newest()]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const [row] = await store.all(
        `SELECT at FROM audit_log WHERE ${between} ORDER BY sequence DESC LIMIT 1`,
        [low, middle],
      )
      if (row && Number(row.at) >= unixMs) high = middle - 1
      else low = middle
    }
    return low
  }

  /** Deletes event data up to a sequence. The mark stores the progress. */
  const tidy = async (mark: typeof tidied, which: string, until: number, signal: AbortSignal) => {
    let from = await mark.read()
    while (from < until && !signal.aborted) {
      const to = Math.min(until, from + feedRowsAtOnce)
      // For created and deleted records the audit keeps the whole record. Entries without digest were removed from the
      // audit: they were only kept as events.
      const deletions = [
        `DELETE FROM feed_below WHERE ${between}`,
        `DELETE FROM audit_log WHERE (action = '${eventAction}' OR digest IS NULL) AND ${which} AND ${between}`,
        `UPDATE audit_log SET base_id = NULL, before_doc = CASE WHEN changes IS NULL THEN before_doc END,
            after_doc = CASE WHEN changes IS NULL THEN after_doc END
          WHERE (changes IS NOT NULL OR base_id IS NOT NULL) AND ${which} AND ${between}`,
      ].map((sql) => ({ sql, params: [from, to] }))
      await store.writeUnrecorded([...deletions, mark.moveTo(to)])
      from = to
    }
  }

  /** Deletes event data before a time in Unix milliseconds. The mark is set first, so that readers never see a part. */
  return async (before: number, signal: AbortSignal) => {
    const mark = await forgotten.read()
    const until = await lastBefore(before, mark)
    if (until > mark) await store.writeUnrecorded([forgotten.moveTo(until)])
    await tidy(tidied, isNoBase, until, signal)
    const oldest = await lastBefore(before - baseStoredMs, await tidiedBases.read())
    await tidy(tidiedBases, isBase, oldest, signal)
  }
}

/** Deletes rows of deleted accounts. */
const deleteOrphans = async (store: Store, signal: AbortSignal) => {
  for (const table of companions) {
    const sql = `SELECT DISTINCT t.account_id AS "accountId" FROM ${table} t WHERE t.account_id > $1
      AND NOT EXISTS (SELECT 1 FROM records r
        WHERE r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id)
      ORDER BY t.account_id LIMIT ${accountsPerPass}`
    for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
      const gone = orphans.list(await store.scan(sql, [after]))
      if (gone.length > 0)
        await store.writeUnrecorded(
          gone.map(({ accountId }) => ({
            sql: `DELETE FROM ${table} WHERE account_id = $1`,
            params: [accountId],
          })),
        )
      after = gone.at(-1)?.accountId
    }
  }
}

// Retention of what no area owns.
export const retentionJobs = (
  store: Store,
  settings: Settings,
  signInBuckets: SignInBuckets | undefined,
): ScheduledJob[] => {
  const { clock } = store
  const deleteEvents = createEventRetention(store)
  const job = (name: string, everySeconds: number, run: ScheduledJob['run']) => ({ name, everySeconds, run })

  return [
    job('login attempts', hourSeconds, async (signal) => {
      const { login_attempt_days: days } = await settings.of(authSettings)
      const before = timeKey(gregorianNow(clock) - days * daySeconds)
      await deleteRecords(store, 'login_attempt', before, signal)
    }),
    // Sorted by the Unix seconds of their expiry.
    job('ended tokens', hourSeconds, (signal) =>
      deleteRecords(store, 'revoked_token', String(Math.floor(clock.now() / 1000)).padStart(16, '0'), signal),
    ),
    job('sign-in buckets', hourSeconds, async (signal) => signInBuckets?.forgetFull(signal)),
    job('events', daySeconds, async (signal) => {
      const { events_retention_days: days } = await settings.of(eventSettings)
      if (days > 0) await deleteEvents(clock.now() - days * dayMs, signal)
    }),
    job('leftovers', daySeconds, (signal) => deleteOrphans(store, signal)),
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
