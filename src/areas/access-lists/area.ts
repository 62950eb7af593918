import { on } from '../../storage/signal.ts'
import { area } from '../area.ts'
import { devicesArea } from '../devices/area.ts'
import { deviceLeaving } from '../devices/signals.ts'
import { createAccessLists } from './operations.ts'
import { accessListRoutes } from './routes.ts'
import { AccessList } from './schema.ts'

/** Which addresses and user agents accounts and their devices let in. */
export const accessListsArea = area({
  name: 'accessLists',
  needs: { devices: devicesArea },
  create(tools, { devices }) {
    const lists = createAccessLists(tools)
    return {
      offers: lists,
      routes: accessListRoutes(lists, devices),
      hears: [on(deviceLeaving, lists.removeWith)],
      schemas: { access_lists: AccessList },
    }
  },
})
