import { sequenceText } from '../../../events/events.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { daySeconds, gregorianOfUnix } from '../../../lib/gregorian.ts'
import { eventSettings } from '../../../settings/documents.ts'
import type { Settings } from '../../../settings/settings.ts'
import { eventAction } from '../../../storage/audit-log.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import { isNoBase } from '../../../storage/entry-docs.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, type RowOf, shape, text } from '../../../storage/table.ts'
import { dropFromIndex } from './indexing.sql.ts'
import type { Audit } from './operations.ts'
import { removalKind, removalText } from './removal.ts'
import type { RemovedEntries } from './schema.ts'

const entries = shape({
  sequence: integer(),
  /** Unix milliseconds. */
  at: integer(),
  kind: text(),
  action: text(),
  digest: text(),
})

type OldEntry = RowOf<typeof entries>

const isLine = ({ kind, action }: OldEntry) => kind === removalKind && action === 'deleted'

/** The oldest entries, up to the first that is retained. Entries about removals are removed only together with others. */
export const removable = (entries: readonly OldEntry[], before: number): readonly OldEntry[] => {
  const kept = entries.findIndex(({ at }) => at >= before)
  const old = kept < 0 ? entries : entries.slice(0, kept)
  return old.every(isLine) ? [] : old
}

export const lineOf = (removed: readonly OldEntry[], last: OldEntry): RemovedEntries => ({
  entries: removed.length,
  until: gregorianOfUnix(removed.reduce((latest, { at }) => Math.max(latest, at), 0) / 1000),
  sequence: sequenceText(last.sequence),
  digest: last.digest,
})

const maxRowsPerBatch = 5000

const inChain = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${eventAction}'`

const createAuditRetentionStore = ({ scan }: Store) => ({
  /** In the order of account ids. */
  async nextAccount(after: string): Promise<string | undefined> {
    const [row] = await scan('SELECT min(account_id) AS account_id FROM audit_log WHERE account_id > $1', [
      after,
    ])
    return typeof row?.account_id === 'string' ? row.account_id : undefined
  },

  async first(accountId: string, limit: number): Promise<OldEntry[]> {
    const sql = `SELECT ${entries.columns} FROM audit_log WHERE account_id = $1 AND ${inChain}
      ORDER BY sequence LIMIT ${limit}`
    return entries.list(await scan(sql, [accountId]))
  },

  /** Entries that events still need are deleted with the events. */
  letGo(set: ChangeSet, accountId: string, until: number) {
    const range = `account_id = $1 AND sequence <= $2 AND ${inChain}`
    set
      .add(dropFromIndex('account_id = $1 AND sequence <= $2', [accountId, until]))
      .run(
        `DELETE FROM audit_log WHERE ${range} AND ${isNoBase}
          AND sequence <= (SELECT sequence FROM feed_marks WHERE name = 'forgotten')`,
        [accountId, until],
      )
      .run(`UPDATE audit_log SET digest = NULL, previous_digest = NULL WHERE ${range}`, [accountId, until])
  },
})

const author: Author = { requestId: 'audit-retention' }

/** Removes expired entries, and adds an entry that records the removal. */
export const createAuditRetention = (
  { store, settings }: { store: Store; settings: Settings },
  { settled, departed }: Pick<Audit, 'settled' | 'departed'>,
): ScheduledJob => {
  const rows = createAuditRetentionStore(store)

  /** The entry must name the parents of a deleted account: they may read its audit. */
  const placeOfGone = async (accountId: string) => {
    const standing = await store.standingOf(accountId)
    // Entries from before the master account stay in place.
    if (standing) return standing.accountId === accountId ? {} : { tree: [] }
    const gone = await departed(accountId)
    return gone ? { name: gone.doc.name, tree: gone.hidden.tree } : { tree: [] }
  }

  /** Returns whether there may be more to remove. */
  const removeSome = async (accountId: string, before: number, guard: Statement) => {
    const first = await rows.first(accountId, maxRowsPerBatch)
    const removed = removable(first, before)
    const last = removed.at(-1)
    if (!last) return false
    const set = new ChangeSet(author).add(guard)
    rows.letGo(set, accountId, last.sequence)
    set.record({
      accountId,
      kind: removalKind,
      id: accountId,
      action: 'deleted',
      before: removalText(lineOf(removed, last)),
      ...(await placeOfGone(accountId)),
    })
    await store.commit(set)
    return removed.length === maxRowsPerBatch
  }

  const isOld = async (accountId: string, before: number) => {
    const [oldest] = await rows.first(accountId, 1)
    return oldest !== undefined && oldest.at < before
  }

  return {
    name: 'audit',
    everySeconds: daySeconds,
    async run(signal, guard) {
      const { audit_retention_days: days } = await settings.of(eventSettings)
      if (days === 0) return
      const before = store.clock.now() - days * daySeconds * 1000
      await settled()
      let accountId = await rows.nextAccount('')
      while (accountId !== undefined && !signal.aborted) {
        if (await isOld(accountId, before))
          while (!signal.aborted && (await removeSome(accountId, before, guard)));
        accountId = await rows.nextAccount(accountId)
      }
    },
  }
}
