import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { deviceChanged, deviceDeleted } from '../devices/signals.ts'
import { createProvisioning } from './operations.ts'
import { provisioningSettings } from './settings.ts'

/** Sends the settings of phones to the operator's provisioning service. */
export const provisioningArea = area({
  name: 'provisioning',
  kinds: { provisioning: 'settings sent to phones' },
  needs: { accounts: accountsArea, alerts: alertsArea },
  settings: [provisioningSettings],
  create(tools, needs) {
    const provisioning = createProvisioning({ ...tools, ...needs })
    return {
      jobs: [provisioning.job],
      hears: [
        on(deviceChanged, (set, { before, after }) => provisioning.changed(set, before, after)),
        on(deviceDeleted, (set, device) => provisioning.changed(set, device, undefined)),
      ],
    }
  },
})
