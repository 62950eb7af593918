import { area } from '../../area.ts'
import { createSystemConfigs } from './operations.ts'
import { systemConfigRoutes } from './routes.ts'

export const systemConfigsArea = area({
  name: 'systemConfigs',
  kinds: { system_config: 'settings of the system, which are records of the master account' },
  describes: { system_configs: 'Settings of the whole system.' },
  create(tools) {
    const configs = createSystemConfigs(tools)
    const schemas = Object.entries(tools.declared.settings).map(([name, schema]) => [
      `system_config.${name}`,
      schema,
    ])
    return {
      offers: configs,
      routes: systemConfigRoutes(configs),
      schemas: Object.fromEntries(schemas),
      adoptions: { setting: configs.adoption },
    }
  },
})
