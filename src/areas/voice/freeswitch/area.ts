import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { edgeArea } from '../edge/area.ts'
import { routingArea } from '../routing/area.ts'
import { createSwitchDocuments } from './operations.ts'
import { freeswitchRoutes } from './routes.ts'

/** What FreeSWITCH reads in place of files: its directory and its dialplan. */
export const freeswitchArea = area({
  name: 'freeswitch',
  needs: { accounts: accountsArea, edge: edgeArea, routing: routingArea },
  create: ({ store: { records } }, { edge: { edge, carriers }, ...needs }) => ({
    routes: freeswitchRoutes(createSwitchDocuments({ records, edge, carriers, ...needs })),
  }),
})
