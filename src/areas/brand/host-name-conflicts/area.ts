import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { whitelabelArea } from '../whitelabel/area.ts'
import { createHostNameConflicts } from './operations.ts'

/** Alerts the operator about host names that two accounts have. */
export const hostNameConflictsArea = area({
  name: 'hostNameConflicts',
  needs: { accounts: accountsArea, whitelabel: whitelabelArea, alerts: alertsArea },
  create: ({ store }, { accounts: { hostNames }, whitelabel, alerts }) => ({
    jobs: [createHostNameConflicts({ store, hostNames, whitelabel, alerts }).round],
  }),
})
