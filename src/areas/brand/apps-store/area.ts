import { on } from '../../../storage/signal.ts'
import { userDeleted } from '../../accounts/users/signals.ts'
import { area } from '../../area.ts'
import { servicesArea } from '../../billing/services/area.ts'
import { createAppsStore } from './operations.ts'
import { appsStoreRoutes } from './routes.ts'
import { Blacklist, Installation } from './schema.ts'
import { appsStoreSettings } from './settings.ts'

export const appsStoreArea = area({
  name: 'appsStore',
  kinds: { apps_store: 'apps of an account' },
  describes: { apps_store: 'Apps of web clients and their users.' },
  needs: { services: servicesArea },
  settings: [appsStoreSettings],
  create(tools, { services: { services } }) {
    const apps = createAppsStore({ ...tools, services })
    return {
      offers: apps,
      routes: appsStoreRoutes(apps),
      hears: [on(userDeleted, apps.forget)],
      adoptions: { apps_store: apps.adoption },
      schemas: { app: Installation, 'apps_store.blacklist': Blacklist },
    }
  },
})
