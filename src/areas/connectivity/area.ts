import { on } from '../../storage/signal.ts'
import { accountsArea } from '../accounts/area.ts'
import { area } from '../area.ts'
import { devicesArea } from '../devices/area.ts'
import { phoneNumbersArea } from '../phone-numbers/area.ts'
import { numberLeaving, numberRenamed } from '../phone-numbers/signals.ts'
import { resourcesArea } from '../resources/area.ts'
import { createTrunks } from './operations.ts'
import { connectivityRoutes } from './routes.ts'
import { Connectivity } from './schema.ts'

/** Trunks: the PBX servers of accounts, and the numbers whose calls they take. */
export const connectivityArea = area({
  name: 'connectivity',
  describes: { connectivity: 'Trunks: the PBX servers of accounts, and the numbers whose calls they take.' },
  needs: {
    accounts: accountsArea,
    phoneNumbers: phoneNumbersArea,
    devices: devicesArea,
    resources: resourcesArea,
  },
  create(tools, { accounts, phoneNumbers: { numbers }, devices, resources: { destinations } }) {
    const trunks = createTrunks({ ...tools, numbers, accounts, destinations, sip: devices.claims })
    return {
      offers: trunks,
      routes: connectivityRoutes(trunks),
      hears: [
        on(numberLeaving, (set, number, together) => trunks.replaceNumber({ set, together }, number)),
        on(numberRenamed, (set, number, together) => trunks.replaceNumber({ set, together }, number)),
      ],
      schemas: { connectivity: Connectivity },
      adoptions: { connectivity: trunks.adoption },
    }
  },
})
