import { importingInto } from '../../adoption.ts'
import { area } from '../../area.ts'
import { multiFactorArea } from '../multi-factor/area.ts'
import { createLoginLock } from './login-lock.ts'
import { createSecurity } from './operations.ts'
import { securityRoutes } from './routes.ts'
import { SecuritySettings } from './schema.ts'
import { createSecurityStore, type SecurityDoc } from './store.ts'

/** How accounts let people sign in. */
export const securityArea = area({
  name: 'security',
  describes: { security: 'How accounts let people sign in, and who tried.' },
  needs: { multiFactor: multiFactorArea },
  create(tools, { multiFactor: { providers } }) {
    const security = createSecurity({ ...tools, providers })
    const lock = createLoginLock(tools)
    const adopting = importingInto<SecurityDoc, object>(createSecurityStore(tools.store), ({ doc }) => ({
      doc,
      hidden: {},
    }))
    return {
      offers: { security, lock },
      routes: securityRoutes(security, lock),
      adoptions: { security: { schema: SecuritySettings, ...adopting } },
    }
  },
})
