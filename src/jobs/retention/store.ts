// What is left over in tables of several areas, and in those that nobody owns.
import { emitEvent } from '../../storage/audit-log.ts'
import { cacheKey, type Statement } from '../../storage/db.ts'
import { baseStoredMs, isBase, isNoBase } from '../../storage/entry-docs.ts'
import type { Store } from '../../storage/store.ts'
import { shape, text } from '../../storage/table.ts'

const recordsAtOnce = 200
const feedRowsAtOnce = 1000
const accountsAtOnce = 200

/** Kinds of records that go by themselves, by their sort keys: the index `records_passing`. */
type PassingKind = 'login_attempt' | 'revoked_token'

/** Tables of one or a few rows for an account. */
const companions = ['balance_watch', 'charged_items', 'payer_turns', 'topups'] as const

const places = shape({ accountId: text(), id: text() })
const orphans = shape({ accountId: text() })

const between = 'sequence > $1 AND sequence <= $2'

const putMark = (name: string, sequence: number): Statement => ({
  sql: `INSERT INTO feed_marks (name, sequence) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE feed_marks.sequence < excluded.sequence`,
  params: [name, sequence],
})

export const createRetentionStore = (store: Store) => {
  const markOf = async (name: string) => {
    const [row] = await store.all('SELECT sequence FROM feed_marks WHERE name = $1', [name])
    return Number(row?.sequence ?? 0)
  }

  /** The last sequence, from `first` on, of what happened before a time. Places follow the times but for what came late by moments. */
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

  /** Removes what only events needed of the rows up to a place. The mark says how far it has come. */
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
        // What the audit has let go of has no digest any more: it was an event, and nothing else.
        {
          sql: `DELETE FROM audit_log WHERE (action = '${emitEvent}' OR digest IS NULL) AND ${which} AND ${between}`,
          params,
        },
        // Of what was made or removed the audit keeps the whole record: nothing else tells what it was.
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

    /**
     * Removes what events told beside the audit, of all that happened before a time in Unix milliseconds. Readers are
     * shown none of it from the first moment: the mark goes first.
     */
    async forgetEvents(before: number, signal: AbortSignal) {
      const mark = await markOf('forgotten')
      const until = await lastBefore(before, mark)
      if (until > mark) await store.writeUnrecorded([putMark('forgotten', until)])
      await tidy({ mark: 'tidied', which: isNoBase, until }, signal)
      const oldest = await lastBefore(before - baseStoredMs, await markOf('tidied_bases'))
      await tidy({ mark: 'tidied_bases', which: isBase, until: oldest }, signal)
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
  }
}
