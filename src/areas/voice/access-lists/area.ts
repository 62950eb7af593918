import { AccessList } from '../../../lib/access-list.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createAccessLists } from './operations.ts'
import { accessListRoutes } from './routes.ts'

/** Which addresses and user agents accounts and their devices let in. */
export const accessListsArea = area({
  name: 'accessLists',
  describes: { access_lists: 'Which addresses and user agents accounts and their devices let in.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  create(_tools, needs) {
    const lists = createAccessLists(needs)
    return {
      offers: lists,
      routes: accessListRoutes(lists, needs.devices),
      schemas: { access_lists: AccessList },
    }
  },
})
