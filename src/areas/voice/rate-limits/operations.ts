import type { AccountRecord } from '../../../auth/identity.ts'
import type { AccountRateLimits, DeviceRateLimits } from '../../../lib/packet-limits.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Author } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import {
  accountLimits,
  deviceLimits,
  type EffectiveLimits,
  systemLimitsOf,
  unknownRealmLimits,
} from './rules.ts'
import { rateLimitSettings } from './settings.ts'

/** The limits that hold for a realm and for one of its devices. */
interface LimitsInForce {
  account: EffectiveLimits
  device: EffectiveLimits
}

interface Deps {
  settings: Settings
  accounts: Accounts
  devices: Devices
}

export type RateLimits = ReturnType<typeof createRateLimits>

/** How many SIP packets an account, and each of its devices, may send: a member of their records. */
export const createRateLimits = ({ settings, accounts, devices }: Deps) => {
  /** What the accounts above say, nearest first. */
  const above = async ({ hidden }: AccountRecord) => {
    const ancestors = await Promise.all(hidden.tree.toReversed().map((id) => accounts.find(id)))
    return ancestors.map((ancestor) => ancestor?.doc.rate_limits)
  }

  return {
    ofUnknownRealm: { account: unknownRealmLimits, device: unknownRealmLimits } satisfies LimitsInForce,

    /** Puts the limits in the place of those before, or removes them. */
    ofAccount: (author: Author, account: AccountRecord, limits: AccountRateLimits | undefined) =>
      accounts.replace(author, account, { ...account.doc, rate_limits: limits }),

    /** The same for a device. */
    ofDevice: (
      author: Author,
      account: AccountRecord,
      device: DeviceRecord,
      limits: DeviceRateLimits | undefined,
    ) => devices.replace({ author, account }, device, { ...device.doc, rate_limits: limits }),

    /** What holds after fall-back. Without a device: what holds for a device that has no limits of its own. */
    async inForce(account: AccountRecord, device: DeviceRecord | undefined): Promise<LimitsInForce> {
      const system = systemLimitsOf((await settings.of(rateLimitSettings)).rate_limits)
      const { rate_limits: own } = account.doc
      return {
        account: accountLimits({ account: own, ancestors: await above(account), system }),
        device: deviceLimits({ device: device?.doc.rate_limits, account: own, system }),
      }
    },
  }
}
