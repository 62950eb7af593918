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

export const createRateLimits = ({ settings, accounts, devices }: Deps) => {
  const above = async ({ hidden }: AccountRecord) => {
    const ancestors = await Promise.all(hidden.tree.toReversed().map((id) => accounts.find(id)))
    return ancestors.map((ancestor) => ancestor?.doc.rate_limits)
  }

  return {
    ofUnknownRealm: { account: unknownRealmLimits, device: unknownRealmLimits } satisfies LimitsInForce,

    /** Undefined limits: removes them. */
    ofAccount: (author: Author, account: AccountRecord, limits: AccountRateLimits | undefined) =>
      accounts.replace(author, account, { ...account.doc, rate_limits: limits }),

    ofDevice: (
      author: Author,
      account: AccountRecord,
      device: DeviceRecord,
      limits: DeviceRateLimits | undefined,
    ) => devices.replace({ author, account }, device, { ...device.doc, rate_limits: limits }),

    /** The effective limits. Without a device: those of a device without limits of its own. */
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
