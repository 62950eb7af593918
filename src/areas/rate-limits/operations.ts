import type { AccountRecord } from '../../auth/identity.ts'
import type { Settings } from '../../settings/settings.ts'
import { type AttachmentRecord, createAttachment } from '../../storage/attachment.ts'
import { type Author, ChangeSet, type ClaimHolder } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import {
  accountLimits,
  deviceLimits,
  type EffectiveLimits,
  systemLimitsOf,
  unknownRealmLimits,
} from './rules.ts'
import type { AccountRateLimits, DeviceRateLimits } from './schema.ts'

export type RateLimitRecord = AttachmentRecord<AccountRateLimits | DeviceRateLimits>

/** The limits that hold for a realm and for one of its devices. */
interface LimitsInForce {
  account: EffectiveLimits
  device: EffectiveLimits
}

interface Tools {
  store: Store
  settings: Settings
}

export type RateLimits = ReturnType<typeof createRateLimits>

/** How many SIP packets an account, and each of its devices, may send. The owner is either of them. */
export const createRateLimits = ({ store, settings }: Tools) => {
  const limits = createAttachment<AccountRateLimits | DeviceRateLimits>(store, 'rate_limits')

  const ofAccount = async (id: string) =>
    (await limits.find({ accountId: id, id }))?.doc as AccountRateLimits | undefined

  /** The document of the nearest ancestor that has one. */
  const inherited = async (tree: readonly string[]) => {
    for (const id of [...tree].reverse()) {
      const found = await ofAccount(id)
      if (found) return found
    }
    return undefined
  }

  return {
    of: limits.find,
    removeWith: limits.removeWith,
    ofUnknownRealm: { account: unknownRealmLimits, device: unknownRealmLimits } satisfies LimitsInForce,

    async replace(
      author: Author,
      owner: ClaimHolder,
      before: RateLimitRecord | undefined,
      doc: AccountRateLimits | DeviceRateLimits,
    ): Promise<RateLimitRecord> {
      const set = new ChangeSet(author)
      const after = limits.put(set, owner, before, doc)
      await store.commit(set)
      return after
    },

    async remove(author: Author, record: RateLimitRecord) {
      const set = new ChangeSet(author)
      limits.remove(set, record)
      await store.commit(set)
    },

    /** What holds after fall-back. Without a device: what holds for a device that has no limits of its own. */
    async inForce({ id, hidden }: AccountRecord, deviceId: string | undefined): Promise<LimitsInForce> {
      const system = systemLimitsOf((await settings.of('frontier')).rate_limits)
      const account = await ofAccount(id)
      const above = account ? undefined : await inherited(hidden.tree)
      const own = deviceId === undefined ? undefined : await limits.find({ accountId: id, id: deviceId })
      return {
        account: accountLimits({ account, ancestors: [above], system }),
        device: deviceLimits({ device: own?.doc as DeviceRateLimits | undefined, account, system }),
      }
    },
  }
}
