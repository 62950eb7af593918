import { Allotments, OperatorLimits } from '../../../lib/limit-shapes.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { servicesArea } from '../services/area.ts'
import { createAllotments, createAllotmentUseImporter } from './allotments/operations.ts'
import { createLimits } from './operations.ts'
import { allotmentRoutes, limitRoutes } from './routes.ts'
import { Limits } from './schema.ts'

export const limitsArea = area({
  name: 'limits',
  kinds: {
    allotments: 'used allotments, imported from another system',
    limits: 'limits of an account',
    operator_limits: 'limits that the operator sets',
  },
  describes: {
    allotments: 'Included minutes of an account.',
    limits: 'Trunks, concurrent calls and overdraft of accounts.',
  },
  needs: { accounts: accountsArea, phoneNumbers: phoneNumbersArea, services: servicesArea },
  create(tools, { accounts, phoneNumbers, services: { services, quantities } }) {
    const { store } = tools
    const { classOf } = phoneNumbers.planning
    const limits = createLimits({ store, accounts, quantities, services })
    const allotments = createAllotments({ store, accounts, limits, classOf })
    return {
      offers: { limits, allotments },
      routes: [...limitRoutes(limits), ...allotmentRoutes({ allotments, limits })],
      jobs: [allotments.tidying],
      counts: [limits.counted],
      adoptions: { ...limits.adoptions, allotment_use: createAllotmentUseImporter(store) },
      schemas: { allotments: Allotments, limits: Limits, operator_limits: OperatorLimits },
    }
  },
})
