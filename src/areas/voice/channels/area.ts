import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createChannels } from './operations.ts'
import { channelRoutes } from './routes.ts'

/** The calls that go on at the edges of the network. */
export const channelsArea = area({
  name: 'channels',
  describes: { channels: 'Calls that go on.' },
  needs: { devices: devicesArea },
  create: ({ mediaSwitch, store: { clock, records } }, { devices }) => ({
    routes: channelRoutes({ channels: createChannels({ clock, devices, mediaSwitch }), devices, records }),
  }),
})
