import { accessListsArea } from '../access-lists/area.ts'
import { accountsArea } from '../accounts/area.ts'
import { area } from '../area.ts'
import { devicesArea } from '../devices/area.ts'
import { rateLimitsArea } from '../rate-limits/area.ts'
import { createEdge } from './operations.ts'
import { edgeRoutes } from './routes.ts'

/** What the SIP edges of the network ask. */
export const edgeArea = area({
  name: 'edge',
  needs: {
    accounts: accountsArea,
    devices: devicesArea,
    accessLists: accessListsArea,
    rateLimits: rateLimitsArea,
  },
  create: ({ store }, needs) => ({ routes: edgeRoutes(createEdge({ records: store.records, ...needs })) }),
})
