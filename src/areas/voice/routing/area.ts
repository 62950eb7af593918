import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { ledgersArea } from '../../billing/ledgers/area.ts'
import { limitsArea } from '../../billing/limits/area.ts'
import { cdrsArea } from '../../calls/cdrs/area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { callflowsArea } from '../callflows/area.ts'
import { connectivityArea } from '../connectivity/area.ts'
import { devicesArea } from '../devices/area.ts'
import { groupsArea } from '../groups/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { moduleSchemas } from './modules.schema.ts'
import { createRouting } from './operations.ts'
import { routingRoutes, runningCallRoutes } from './routes.ts'
import { createRunningCalls } from './running.operations.ts'
import { routingSettings } from './settings.ts'

export const routingArea = area({
  name: 'routing',
  events: {
    'call.credit_used':
      'Extra: a call over a carrier ends within 20 seconds because the credit of its account is used, unless more is paid. Once for each call. Record: `account`. `after`: `call_id`, `direction`, `seconds` that the call may still last',
  },
  needs: {
    accounts: accountsArea,
    devices: devicesArea,
    callflows: callflowsArea,
    groups: groupsArea,
    phoneNumbers: phoneNumbersArea,
    limits: limitsArea,
    ledgers: ledgersArea,
    cdrs: cdrsArea,
    carriers: resourcesArea,
    trunks: connectivityArea,
  },
  settings: [routingSettings],
  create(tools, { phoneNumbers: { numbers }, limits, ledgers: { balance }, cdrs: { billing }, ...needs }) {
    const { records } = tools.store
    const { destinations } = needs.carriers
    const running = createRunningCalls({ ...tools, ...needs, ...limits, numbers, balance, billing })
    const routing = createRouting({
      ...tools,
      ...needs,
      records,
      numbers,
      limits: limits.limits,
      running,
      destinations,
    })
    return {
      offers: { route: routing.route, running },
      routes: [...routingRoutes(routing), ...runningCallRoutes(running)],
      jobs: [running.tidying],
      schemas: Object.fromEntries(
        Object.entries(moduleSchemas).map(([module, schema]) => [`callflows.${module}`, schema]),
      ),
    }
  },
})
