import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { systemConfigsArea } from '../system-configs/area.ts'
import { createAccountConfigs } from './operations.ts'
import { accountConfigRoutes } from './routes.ts'
import { configsSettings } from './settings.ts'

export const configsArea = area({
  name: 'configs',
  kinds: { account_config: 'settings of an account' },
  describes: { configs: 'Settings of accounts, which override those of resellers and the system.' },
  settings: [configsSettings],
  needs: { accounts: accountsArea, systemConfigs: systemConfigsArea },
  create(tools, needs) {
    const configs = createAccountConfigs({ ...tools, ...needs })
    return {
      offers: configs,
      routes: accountConfigRoutes(configs),
      adoptions: { account_config: configs.adoption },
    }
  },
})
