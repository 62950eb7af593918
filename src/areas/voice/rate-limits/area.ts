import { AccountRateLimits, DeviceRateLimits } from '../../../lib/packet-limits.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createRateLimits } from './operations.ts'
import { rateLimitRoutes } from './routes.ts'
import { rateLimitSettings } from './settings.ts'

/** How many SIP packets a second accounts and their devices may send. */
export const rateLimitsArea = area({
  name: 'rateLimits',
  describes: { rate_limits: 'How many SIP packets a second accounts and their devices may send.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  settings: [rateLimitSettings],
  create({ settings }, needs) {
    const limits = createRateLimits({ settings, ...needs })
    return {
      offers: limits,
      routes: rateLimitRoutes(limits, needs.devices),
      adoptions: {
        packet_limits: {
          schema: AccountRateLimits,
          put: (set, { accountId, doc }) => needs.accounts.keepLimits(set, accountId, doc),
          remove: (set, { accountId }) => needs.accounts.keepLimits(set, accountId, undefined),
        },
      },
      schemas: { device_rate_limits: DeviceRateLimits, rate_limits: AccountRateLimits },
    }
  },
})
