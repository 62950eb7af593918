import { area } from '../area.ts'
import { createDestinations } from './destinations/operations.ts'
import { createCarrierHosts } from './hosts/operations.ts'
import { createResources } from './operations.ts'
import { resourceRoutes } from './routes.ts'
import { Resource } from './schema.ts'
import { createResourceStore } from './store.ts'

/** Carriers: who takes calls to numbers outside, and who brings them; and to which other hosts calls may go. */
export const resourcesArea = area({
  name: 'resources',
  describes: { resources: 'Carriers: who takes calls to numbers outside, and who brings them.' },
  needs: {},
  create({ store, settings, dns, outgoing }) {
    const { clock } = store
    const collection = createResourceStore(store)
    const hosts = createCarrierHosts({ clock, dns })
    const destinations = createDestinations({
      store,
      settings,
      resources: collection,
      carriers: hosts,
      hosts: createCarrierHosts({ clock, dns }),
    })
    const resources = createResources({ store, resources: collection, hosts, destinations, outgoing })
    return {
      offers: { ...resources, destinations },
      routes: resourceRoutes(resources),
      schemas: { resources: Resource },
      adoptions: { resource: resources.adoption },
    }
  },
})
