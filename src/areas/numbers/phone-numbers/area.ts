import type { AccountRecord } from '../../../auth/identity.ts'
import type { Call } from '../../../http/route.ts'
import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { servicesArea } from '../../billing/services/area.ts'
import { configsArea } from '../../system/configs/area.ts'
import { resourcesArea } from '../../voice/resources/area.ts'
import { createNumberTasks } from './bulk/output.ts'
import { createPhonebook } from './carriers/phonebook.ts'
import { createCarriers } from './carriers/registry.ts'
import { createNumberCollections } from './collections.operations.ts'
import { createNumberFeatures } from './features.operations.ts'
import { createNumberImporter, createStockImporter } from './importer.ts'
import { createLocalities } from './localities/operations.ts'
import { createNumberPlanning } from './numbering.ts'
import { createMobileNumbers, createNumberIdentity, createNumbers } from './operations.ts'
import { countedNumbers } from './planner.ts'
import { numberCollectionRoutes, numberPlanningRoutes, phoneNumberRoutes } from './routes.ts'
import { PhoneNumber } from './schema.ts'
import { createNumberSearch } from './search/operations.ts'
import { numberSearchRoutes, searchQuery, visitOf } from './search/routes.ts'
import { searchQueryIn } from './search/rules.ts'
import { FindNumbers } from './search/schema.ts'
import {
  numberAccountSettings,
  numberInventorySettings,
  numberLocalitySettings,
  numberManagerSettings,
  phoneNumberSettings,
} from './settings.ts'
import { createNumberUpkeep } from './upkeep.operations.ts'

const deviceKind = 'device'
const accountsPerBatch = 8

export const phoneNumbersArea = area({
  name: 'phoneNumbers',
  kinds: {
    localities: 'localities of numbers',
    number: 'phone numbers',
    number_order: 'orders of numbers that failed',
    number_pool: 'numbers without an account',
  },
  events: {
    'number.bought':
      'Change: the account gets a number: created, taken from stock, or confirmed by the carrier. Record: `number`. `after`: the number',
    'number.ported':
      'Extra: a number that was ported from another carrier is in service. Record: `number`. `after`: the number',
    'number.released': 'Change: the account no longer has the number. Record: `number`',
    'number.state_changed':
      'Change: the state of a number changes; extra if its owner changes too. Record: `number`. `after`: the number; for the account that lost it `state`',
  },
  describes: {
    phone_numbers: 'Telephone numbers: search, purchase, use, release.',
  },
  needs: { accounts: accountsArea, configs: configsArea, services: servicesArea, resources: resourcesArea },
  settings: [numberManagerSettings, numberInventorySettings, numberLocalitySettings, phoneNumberSettings],
  accountSettings: [numberAccountSettings],
  create(tools, needs) {
    const { accounts, configs, resources } = needs
    const { quantities, services, foresight } = needs.services
    const { store, settings } = tools
    const findAccount = (id: string) => accounts.find(id)
    const resellerSettings = async (account: AccountRecord) =>
      configs.own(await accounts.resellerOf(account), 'number_manager')
    const phonebook = createPhonebook(tools.outgoing, settings)
    const carriers = createCarriers({ store, phonebook })
    const localities = createLocalities(store)
    const search = createNumberSearch({ ...tools, accounts, configs, carriers, localities, phonebook })
    const planning = createNumberPlanning(settings)
    const features = createNumberFeatures({
      settings,
      destinations: resources.destinations,
      findAccount,
      resellerSettings,
      messagesOf: async (account) => (await services.rest(account)).im ?? {},
    })
    const desk = { offered: search.offered, of: carriers.of }
    const numbers = createNumbers({ ...tools, planning, features, desk, findAccount })
    const identity = createNumberIdentity(numbers, findAccount)
    const arriving = createNumberImporter({ numbers: numbers.store, planning })
    const findDevice = (accountId: string, id: string) => store.records.find(accountId, deviceKind, id)
    const upkeep = createNumberUpkeep({ store, settings, numbers, findDevice })
    return {
      offers: {
        numbers,
        identity,
        planning,
        mobile: createMobileNumbers(numbers),

        /** The first hundred numbers that are being ported in or out. */
        async porting(accountId: string) {
          const found = await numbers.store.porting(accountId, 100)
          return found.flatMap(({ id, state }) =>
            state === 'port_in' || state === 'port_out' ? [{ number: id, state }] : [],
          )
        },
      },
      routes: [
        ...phoneNumberRoutes({
          numbers,
          identity,
          upkeep,
          cascadeQuantity: (accountId) => quantities.cascade(accountId, 'phone_numbers'),
          search: (call: Call) => search.inAccount(visitOf(call), searchQueryIn(call.query)),
          searchQuery,
        }),
        ...numberCollectionRoutes(createNumberCollections(numbers, foresight), numbers),
        ...numberPlanningRoutes(planning),
        ...numberSearchRoutes(search),
      ],
      jobs: [search.tidying, upkeep.expiry, ...numbers.jobs.jobs],
      hears: [on(accountDeleted, upkeep.leaving.removeWith)],
      counts: [(accountId) => countedNumbers(numbers.store, accountId)],
      taskActions: createNumberTasks({ ...tools, numbers, findAccount, foresight, repair: upkeep.fix }),
      migrations: {
        normalise_numbers: {
          description: 'Writes phone numbers, their countries and classifiers as the rules of today have it',
          plan: upkeep.renormalise,
          accountsAtOnce: accountsPerBatch,
        },
        repair_used_by: {
          description:
            'Puts right what phone numbers are used by, and the features that follow from settings',
          plan: upkeep.repair,
          accountsAtOnce: accountsPerBatch,
        },
      },
      schemas: { phone_numbers: PhoneNumber, find_numbers: FindNumbers },
      adoptions: {
        number: arriving.number,
        number_by_hearsay: arriving.hearsay,
        pool_number: createStockImporter(store, numbers.store),
      },
    }
  },
})
