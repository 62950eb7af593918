import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { usersArea } from '../users/area.ts'
import { userBeginsAnew, userDeleted } from '../users/signals.ts'
import { createFactors, createProviders } from './operations.ts'
import { createPasskeys } from './passkeys/operations.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { multiFactorRoutes } from './routes.ts'
import { passkeySettings } from './settings.ts'

export const multiFactorArea = area({
  name: 'multiFactor',
  kinds: {
    multi_factor: 'second-factor providers',
    passkey: 'passkeys',
    second_factor: 'second factors of users',
  },
  describes: { multi_factor: 'Second factors of users and their providers.' },
  needs: { users: usersArea },
  settings: [passkeySettings],
  create(tools, { users }) {
    const factors = createFactors(tools)
    const providers = createProviders(tools)
    const passkeys = createPasskeys(tools)
    return {
      offers: { factors, providers, passkeys },
      routes: [...multiFactorRoutes({ providers, factors, users }), ...passkeyRoutes(passkeys, users)],
      adoptions: { multi_factor: providers.ofAccounts.adoption },
      hears: [userDeleted, userBeginsAnew].flatMap((signal) => [
        on(signal, factors.removeWith),
        on(signal, passkeys.removeWith),
      ]),
    }
  },
})
