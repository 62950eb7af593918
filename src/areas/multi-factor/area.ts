import { on } from '../../storage/signal.ts'
import { area } from '../area.ts'
import { usersArea } from '../users/area.ts'
import { userLeaving } from '../users/signals.ts'
import { createFactors } from './factors.ts'
import { createProviders } from './operations.ts'
import { multiFactorRoutes } from './routes.ts'

/** Second factors of users, and who provides them. */
export const multiFactorArea = area({
  name: 'multiFactor',
  needs: { users: usersArea },
  create(tools, { users }) {
    const factors = createFactors(tools)
    const providers = createProviders(tools)
    return {
      offers: { factors, providers },
      routes: multiFactorRoutes({ providers, factors, users }),
      hears: [on(userLeaving, factors.removeWith)],
    }
  },
})
