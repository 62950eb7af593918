import { callRecords } from '../../../../events/events.ts'
import type { FeedHead } from '../../../../events/feed.ts'
import { webhookKind } from '../rules.ts'
import type { HookOwner, WebhookRecord } from '../store.ts'

type Audience = Pick<HookOwner, 'wantsCallRecords'>

const isAboutCallRecords = ({ doc }: Pick<WebhookRecord, 'doc'>) => doc.hook.startsWith('cdr')

/**
 * The accounts that have hooks, so that events which nobody can want are not read. Fed with the feed in its order, it
 * knows of every hook before the first event that the hook is told.
 */
export const createAudience = () => {
  const known = new Map<string, Audience>()

  const isWanted = (accountId: string, isCallRecord: boolean) => {
    const audience = known.get(accountId)
    return audience !== undefined && (!isCallRecord || audience.wantsCallRecords)
  }

  return {
    /** Begins with the hooks that there are now; those that come are heard of. */
    begin(owners: readonly HookOwner[]) {
      known.clear()
      for (const { accountId, wantsCallRecords } of owners) known.set(accountId, { wantsCallRecords })
    },

    /** Puts right what is known of accounts, with the hooks that they have now. */
    learn(accountIds: readonly string[], hooks: readonly WebhookRecord[]) {
      const ofAccount = Map.groupBy(hooks, ({ accountId }) => accountId)
      for (const id of accountIds) {
        const own = ofAccount.get(id)
        if (own) known.set(id, { wantsCallRecords: own.some(isAboutCallRecords) })
        else known.delete(id)
      }
    },

    /** Those who may have to be told of events. */
    among: (events: readonly FeedHead[]) =>
      [...new Set(events.flatMap(({ accountId, above }) => [accountId, ...above]))].filter((id) =>
        known.has(id),
      ),

    wants({ accountId, above, type, kind }: FeedHead): boolean {
      // Which events it asks for from now on is not known yet.
      if (kind === webhookKind) known.set(accountId, { wantsCallRecords: true })
      const isCallRecord = type === callRecords
      return isWanted(accountId, isCallRecord) || above.some((id) => isWanted(id, isCallRecord))
    },
  }
}
