import { area } from '../../area.ts'
import { alertsArea } from '../alerts/area.ts'
import { createMessageBus } from './operations.ts'

/** Every event goes to a broker of the operator's. */
export const messageBusArea = area({
  name: 'messageBus',
  needs: { alerts: alertsArea },
  create: (tools, { alerts }) => ({ jobs: [createMessageBus({ ...tools, alerts })] }),
})
