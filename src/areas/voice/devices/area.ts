import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { createDevices } from './operations.ts'
import { deviceRoutes } from './routes.ts'

/** Phones and their SIP credentials. */
export const devicesArea = area({
  name: 'devices',
  kinds: { device: 'devices' },
  describes: { devices: 'Phones and their SIP credentials.' },
  needs: { accounts: accountsArea, phoneNumbers: phoneNumbersArea, resources: resourcesArea },
  create(tools, { accounts: { hostNames }, phoneNumbers, resources: { destinations } }) {
    const devices = createDevices({ ...tools, hostNames, destinations, mobileNumbers: phoneNumbers.mobile })
    return {
      offers: devices,
      ...deviceRoutes(devices, tools.store.records),
      counts: [devices.counted],
    }
  },
})
