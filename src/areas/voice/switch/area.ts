import { switchSettings } from '../../../switch/settings.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { createEdgeFollower } from './operations.ts'

export const switchArea = area({
  name: 'switch',
  needs: { accounts: accountsArea, alerts: alertsArea },
  settings: [switchSettings],
  create: (tools, needs) => ({ jobs: [createEdgeFollower({ ...tools, ...needs })] }),
})
