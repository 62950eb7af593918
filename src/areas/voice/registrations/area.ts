import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createRegistrations } from './operations.ts'
import { registrationRoutes } from './routes.ts'

/** Which devices are registered at the edges of the network. */
export const registrationsArea = area({
  name: 'registrations',
  describes: { registrations: 'Which devices are registered, and where.' },
  needs: { devices: devicesArea },
  create: ({ mediaSwitch }, { devices }) => ({
    routes: registrationRoutes(createRegistrations({ devices, mediaSwitch })),
  }),
})
