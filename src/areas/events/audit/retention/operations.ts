import type { ScheduledJob } from '../../../../jobs/rounds.ts'
import { daySeconds } from '../../../../lib/gregorian.ts'
import { eventSettings } from '../../../../settings/documents.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Audit } from '../operations.ts'
import { removalKind, removalText } from '../removal.ts'
import { lineOf, removable } from './rules.ts'
import { createAuditRetentionStore, maxRowsPerBatch } from './store.ts'

const author: Author = { requestId: 'audit-retention' }

/** Removes what is older than the operator keeps it, and leaves a line that says so in its place. */
export const createAuditRetention = (
  { store, settings }: { store: Store; settings: Settings },
  { settled, departed }: Pick<Audit, 'settled' | 'departed'>,
) => {
  const rows = createAuditRetentionStore(store)

  /** Of an account that is gone nothing else would tell any more who may read its audit. */
  const placeOfGone = async (accountId: string) => {
    const standing = await store.standingOf(accountId)
    // What was made before there was a master account stays where it is.
    if (standing) return standing.accountId === accountId ? {} : { tree: [] }
    const gone = await departed(accountId)
    return gone ? { name: gone.doc.name, tree: gone.hidden.tree } : { tree: [] }
  }

  /** Answers whether there may be more to remove. */
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

  const round: ScheduledJob = {
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

  return { round }
}
