import { superduper } from '../../../auth/policies.ts'
import { get } from '../../../http/route.ts'
import { list } from '../../../lib/schema.ts'
import { switchSettings } from '../../../switch/settings.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { createEdgeFollower, createEdgeStates } from './operations.ts'
import { EdgeState } from './schema.ts'

export const switchArea = area({
  name: 'switch',
  needs: { accounts: accountsArea, alerts: alertsArea },
  settings: [switchSettings],
  create(tools, needs) {
    const follower = createEdgeFollower({ ...tools, ...needs })
    const states = createEdgeStates({ ...tools, ...needs, follower })
    return {
      jobs: [follower.job],
      routes: [
        get('/v2/edge/states', {
          summary: 'List the SIP edges of the settings with their state',
          isLong: true,
          allow: superduper,
          answers: list(EdgeState),
          run: states,
        }),
      ],
    }
  },
})
