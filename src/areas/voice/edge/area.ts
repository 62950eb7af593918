import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { cdrsArea } from '../../calls/cdrs/area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { connectivityArea } from '../connectivity/area.ts'
import { devicesArea } from '../devices/area.ts'
import { rateLimitsArea } from '../rate-limits/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { routingArea } from '../routing/area.ts'
import { createEnding } from './ending.operations.ts'
import { createEdgeExport } from './export.operations.ts'
import { createCarrierDecisions, createEdge } from './operations.ts'
import { createEdgeReporting } from './reports.operations.ts'
import { edgeRoutes } from './routes.ts'

/** Requests and reports of SIP edges. */
export const edgeArea = area({
  name: 'edge',
  events: {
    'call.emergency':
      'Extra: a call to emergency services begins at an edge, also if no carrier takes it; once for each call id. Record: `device`; `account` if no device calls. `after`: `call_id`, `number`, `caller_id_number`, `address`, `at`',
    'sip.refused':
      'Extra: an edge rejected a packet. At most one a minute for each device, reason, method, address, user name and called number. Record: `device`; `account` if the packet named no device of the account. `after`: the report of the edge, and `count`, the number of such packets in it',
  },
  describes: { edge: 'Requests and reports of SIP edges.' },
  needs: {
    accounts: accountsArea,
    alerts: alertsArea,
    devices: devicesArea,
    rateLimits: rateLimitsArea,
    resources: resourcesArea,
    trunks: connectivityArea,
    cdrs: cdrsArea,
    phoneNumbers: phoneNumbersArea,
    routing: routingArea,
  },
  create(tools, { cdrs: { intake, legs }, phoneNumbers: { numbers }, routing: { running }, ...needs }) {
    const deps = { ...tools, ...needs, numbers, intake, legs, running }
    const edge = createEdge(deps)
    const carriers = createCarrierDecisions(deps)
    const edgeExport = createEdgeExport(deps, edge)
    const ending = createEnding(deps, edge)
    return {
      offers: { edge, carriers },
      gates: [ending.gate],
      jobs: ending.jobs,
      routes: edgeRoutes({ edge, carriers, edgeExport, reporting: createEdgeReporting(deps, edge) }),
    }
  },
})
