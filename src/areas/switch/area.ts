import { switchSettings } from '../../switch/settings.ts'
import { accountsArea } from '../accounts/area.ts'
import { alertsArea } from '../alerts/area.ts'
import { area } from '../area.ts'
import { createEdgeFollower } from './operations.ts'

/** The machines that carry the calls are told what became stale. */
export const switchArea = area({
  name: 'switch',
  needs: { accounts: accountsArea, alerts: alertsArea },
  settings: [switchSettings],
  create: (tools, needs) => ({ jobs: [createEdgeFollower({ ...tools, ...needs })] }),
})
