import { accountAdmin, superduper } from '../../../auth/policies.ts'
import { area } from '../../area.ts'
import { everyOperation, recordRoutes } from '../../record-routes.ts'
import { createDestinations } from './destinations.operations.ts'
import { createCarrierHosts } from './hosts.operations.ts'
import { createResources } from './operations.ts'
import { ResourceRow } from './schema.ts'
import { createResourceStore } from './store.ts'

/** Carriers for outbound and inbound calls, and the other hosts that calls may go to. */
export const resourcesArea = area({
  name: 'resources',
  kinds: { resource: 'carriers, of accounts and of the whole system' },
  describes: { resources: 'Carriers for calls to and from other networks.' },
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
    const ofSystem = recordRoutes(resources.ofSystem, {
      path: '/v2/resources',
      called: ['a carrier of the whole system', 'carriers'],
      row: ResourceRow,
      routes: everyOperation(superduper, { list: { summary: 'List the carriers of the whole system' } }),
    })
    const ofAccounts = recordRoutes(resources.ofAccounts, {
      path: '/v2/accounts/{account_id}/resources',
      called: ['a carrier of an account', 'carriers'],
      row: ResourceRow,
      routes: everyOperation(accountAdmin),
    })
    return {
      offers: { ...resources, destinations },
      ...ofAccounts,
      routes: [...ofSystem.routes, ...ofAccounts.routes],
    }
  },
})
