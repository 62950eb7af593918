import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { accountDeleted } from '../accounts/signals.ts'
import { securityArea } from '../security/area.ts'
import { createApiKeys } from './operations.ts'
import { apiKeyRoutes } from './routes.ts'
import { ApiKey } from './schema.ts'
import { apiKeySettings } from './settings.ts'

export const apiKeysArea = area({
  name: 'apiKeys',
  kinds: { api_key: 'named API keys' },
  describes: { api_keys: 'API keys: the key of an account, and named keys with limits.' },
  needs: { security: securityArea },
  settings: [apiKeySettings],
  create(tools, { security: { security } }) {
    const keys = createApiKeys({ ...tools, security })
    return {
      offers: keys,
      routes: apiKeyRoutes(keys),
      hears: [on(accountDeleted, keys.removeWith)],
      schemas: { api_keys: ApiKey },
    }
  },
})
