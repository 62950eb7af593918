import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { servicesArea } from '../services/area.ts'
import { createRates } from './operations.ts'
import { rateRoutes } from './routes.ts'
import { Rate } from './schema.ts'
import { rateSettings } from './settings.ts'
import { createRateStore } from './store.ts'
import { createRateTasks } from './tasks.ts'

export const ratesArea = area({
  name: 'rates',
  kinds: { rate: 'prices of calls' },
  describes: { rates: 'Prices of calls per minute.' },
  needs: { accounts: accountsArea, services: servicesArea },
  settings: [rateSettings],
  create(tools, { accounts, services: { services } }) {
    const rates = createRates({ ...tools, accounts, ratedeckOf: services.ratedeckOf })
    return {
      offers: { lookUpMany: rates.lookUpMany, ratedeckOf: rates.ratedeckOf },
      routes: rateRoutes(rates),
      taskActions: createRateTasks(rates),
      schemas: { rates: Rate },
      adoptions: { rate: { schema: Rate, ...createRateStore(tools.store).adopting } },
    }
  },
})
