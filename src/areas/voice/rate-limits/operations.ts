import type { AccountRecord } from '../../../auth/identity.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { DeviceRecord } from '../devices/operations.ts'
import { accountLimits, deviceLimits, systemLimitsOf, unknownRealmLimits } from './rules.ts'
import { rateLimitSettings } from './settings.ts'

export type RateLimits = ReturnType<typeof createRateLimits>

export const createRateLimits = ({
  settings,
  accounts,
}: DepsOf<'settings'> & { accounts: Pick<Accounts, 'find'> }) => ({
  ofUnknownRealm: { account: unknownRealmLimits, device: unknownRealmLimits },

  /** The effective limits. Without a device: those of a device that has none. */
  async inForce(account: AccountRecord, device: DeviceRecord | undefined) {
    const system = systemLimitsOf((await settings.of(rateLimitSettings)).rate_limits)
    const { rate_limits: own } = account.doc
    const above = await Promise.all(account.hidden.tree.toReversed().map((id) => accounts.find(id)))
    return {
      account: accountLimits({
        account: own,
        ancestors: above.map((ancestor) => ancestor?.doc.rate_limits),
        system,
      }),
      device: deviceLimits({ device: device?.doc.rate_limits, account: own, system }),
    }
  },
})
