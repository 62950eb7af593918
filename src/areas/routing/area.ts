import { accountsArea } from '../accounts/area.ts'
import { area } from '../area.ts'
import { callflowsArea } from '../callflows/area.ts'
import { connectivityArea } from '../connectivity/area.ts'
import { devicesArea } from '../devices/area.ts'
import { groupsArea } from '../groups/area.ts'
import { ledgersArea } from '../ledgers/area.ts'
import { limitsArea } from '../limits/area.ts'
import { phoneNumbersArea } from '../phone-numbers/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { createRouting } from './operations.ts'
import { routingRoutes } from './routes.ts'
import { routingSettings } from './settings.ts'

/** Where calls go. */
export const routingArea = area({
  name: 'routing',
  needs: {
    accounts: accountsArea,
    devices: devicesArea,
    callflows: callflowsArea,
    groups: groupsArea,
    phoneNumbers: phoneNumbersArea,
    limits: limitsArea,
    ledgers: ledgersArea,
    carriers: resourcesArea,
    trunks: connectivityArea,
  },
  settings: routingSettings,
  create(
    { store, settings },
    { phoneNumbers: { numbers }, limits: { limits, allotments }, ledgers, ...needs },
  ) {
    const { records } = store
    const { balance } = ledgers
    const { destinations } = needs.carriers
    const tools = { ...needs, records, settings, numbers, limits, allotments, balance, destinations }
    const routing = createRouting(tools)
    return { offers: routing, routes: routingRoutes(routing) }
  },
})
