import { area } from '../../area.ts'
import { alertsArea } from '../alerts/area.ts'
import { createMessageBus } from './operations.ts'

export const messageBusArea = area({
  name: 'messageBus',
  needs: { alerts: alertsArea },
  create: (tools, { alerts }) => ({ jobs: [createMessageBus({ ...tools, alerts })] }),
})
