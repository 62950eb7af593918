import { area } from '../../area.ts'
import { multiFactorArea } from '../multi-factor/area.ts'
import { createLoginLock, createSecurity } from './operations.ts'
import { securityRoutes } from './routes.ts'

export const securityArea = area({
  name: 'security',
  kinds: {
    login_lock: 'failed sign-ins of an account, and its lock',
    security: 'settings for signing in to an account',
  },
  events: {
    'sign_in.refused':
      'Extra: too many wrong passwords, so that guesses are not checked (at most one a minute for each account and process), or the account is locked. Not each wrong password. Record: `account`. `after`: `reason`, `client_address`; of a lock `locked_seconds`',
  },
  describes: { security: 'Sign-in settings of accounts, and sign-in attempts.' },
  needs: { multiFactor: multiFactorArea },
  create(tools, { multiFactor: { providers } }) {
    const security = createSecurity({ ...tools, providers })
    const lock = createLoginLock(tools)
    return {
      offers: { security, lock },
      routes: securityRoutes(security, lock),
      adoptions: { security: security.adoption },
    }
  },
})
