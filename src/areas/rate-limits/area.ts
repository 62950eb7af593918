import { on } from '../../storage/signal.ts'
import { area } from '../area.ts'
import { devicesArea } from '../devices/area.ts'
import { deviceLeaving } from '../devices/signals.ts'
import { createRateLimits } from './operations.ts'
import { rateLimitRoutes } from './routes.ts'
import { AccountRateLimits, DeviceRateLimits } from './schema.ts'
import { rateLimitSettings } from './settings.ts'

/** How many SIP packets a second accounts and their devices may send. */
export const rateLimitsArea = area({
  name: 'rateLimits',
  needs: { devices: devicesArea },
  settings: rateLimitSettings,
  create(tools, { devices }) {
    const limits = createRateLimits(tools)
    return {
      offers: limits,
      routes: rateLimitRoutes(limits, devices),
      hears: [on(deviceLeaving, limits.removeWith)],
      schemas: { device_rate_limits: DeviceRateLimits, rate_limits: AccountRateLimits },
    }
  },
})
