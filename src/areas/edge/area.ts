import { accessListsArea } from '../access-lists/area.ts'
import { accountsArea } from '../accounts/area.ts'
import { area } from '../area.ts'
import { cdrsArea } from '../cdrs/area.ts'
import { connectivityArea } from '../connectivity/area.ts'
import { devicesArea } from '../devices/area.ts'
import { rateLimitsArea } from '../rate-limits/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { createEdgeExport } from './export/operations.ts'
import { edgeExportRoutes } from './export/routes.ts'
import { createEdge } from './operations.ts'
import { createEdgeReporting } from './reports/operations.ts'
import { edgeReportRoutes } from './reports/routes.ts'
import { edgeRoutes } from './routes.ts'

/** What the SIP edges of the network ask, and what they tell. */
export const edgeArea = area({
  name: 'edge',
  needs: {
    accounts: accountsArea,
    devices: devicesArea,
    accessLists: accessListsArea,
    rateLimits: rateLimitsArea,
    resources: resourcesArea,
    trunks: connectivityArea,
    cdrs: cdrsArea,
  },
  create({ store, feed, refusals, validate }, { cdrs: { intake }, ...needs }) {
    const edge = createEdge({ records: store.records, ...needs })
    const reporting = createEdgeReporting({ edge, intake, refusals, validate })
    const edgeExport = createEdgeExport({ store, feed, edge, ...needs })
    return {
      offers: edge,
      routes: [...edgeRoutes(edge), ...edgeExportRoutes(edgeExport), ...edgeReportRoutes(reporting)],
    }
  },
})
