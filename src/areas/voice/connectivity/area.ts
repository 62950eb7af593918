import { accountAdmin } from '../../../auth/policies.ts'
import { collectionListing } from '../../../http/response/listing.ts'
import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { numberReleased, numberRenamed } from '../../numbers/phone-numbers/signals.ts'
import { everyOperation, recordRoutes } from '../../record-routes.ts'
import { devicesArea } from '../devices/area.ts'
import { resourcesArea } from '../resources/area.ts'
import { createTrunks } from './operations.ts'
import { ConnectivityId } from './schema.ts'

/** Trunks: PBX servers of accounts and their numbers. */
export const connectivityArea = area({
  name: 'connectivity',
  kinds: { connectivity: 'trunks' },
  describes: { connectivity: 'Trunks: PBX servers of accounts and their numbers.' },
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
      ...recordRoutes(trunks, {
        path: '/v2/accounts/{account_id}/connectivity',
        called: ['trunks of an account', 'trunks'],
        row: ConnectivityId,
        routes: everyOperation(accountAdmin, {
          list: { summary: 'List the ids of the trunks of an account' },
          patch: { summary: 'Change trunks of an account' },
          delete: { summary: 'Delete trunks of an account; calls to their numbers fail from then on' },
        }),
        list: ({ account }) => ({
          ...collectionListing(trunks, account.id),
          row: ({ id }) => JSON.stringify(id),
        }),
      }),
      hears: [on(numberReleased, trunks.replaceNumber), on(numberRenamed, trunks.replaceNumber)],
    }
  },
})
