import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { configsArea } from '../../system/configs/area.ts'
import { callflowsArea } from '../../voice/callflows/area.ts'
import { devicesArea } from '../../voice/devices/area.ts'
import { createPhotos, userFileRoutes } from './file-routes.ts'
import { createKeyRenewal } from './key-renewal.ts'
import { createUsers } from './operations.ts'
import { userRoutes } from './routes.ts'
import { User } from './schema.ts'
import { passwordSettings } from './settings.ts'
import { userDeleted } from './signals.ts'

export const usersArea = area({
  name: 'users',
  kinds: { user: 'users', user_photo: 'photos of users' },
  describes: { users: 'Users of accounts.' },
  needs: { configs: configsArea, devices: devicesArea, callflows: callflowsArea },
  settings: [passwordSettings],
  accountSettings: [passwordSettings],
  create(tools, { configs, devices, callflows }) {
    const owned = {
      device: devices,
      callflow: callflows,
      phone_numbers: { removeOwned: callflows.releaseNumbersOf },
    }
    const users = createUsers({ ...tools, configs, owned })
    const photos = createPhotos(tools.store)
    return {
      offers: users,
      routes: [...userRoutes(users, devices), ...userFileRoutes(users, photos)],
      hears: [on(userDeleted, photos.removeWith)],
      counts: [users.counted],
      adoptions: { user: users.adoption },
      migrations: {
        derive_sign_in_secrets: {
          description:
            'Derives stored sign-in keys of users again with the strongest parameters; passwords do not change',
          plan: createKeyRenewal(tools.store, tools.deriver),
          // Users who sign in need the same few threads.
          accountsAtOnce: 1,
        },
      },
      schemas: { users: User },
    }
  },
})
