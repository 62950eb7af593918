import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createQuickcalls } from './operations.ts'
import { quickcallRoutes } from './routes.ts'

/** Calls that a request starts: first the phones ring, then the number is called. */
export const quickcallsArea = area({
  name: 'quickcalls',
  needs: { devices: devicesArea },
  create: (tools, { devices }) => ({
    routes: quickcallRoutes(createQuickcalls({ ...tools, devices }), devices, tools.store.records),
  }),
})
