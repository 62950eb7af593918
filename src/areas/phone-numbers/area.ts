import type { AccountRecord } from '../../auth/identity.ts'
import type { Call, Route } from '../../http/route.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../storage/store.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { AccountConfigs } from '../configs/operations.ts'
import type { QuantityBook } from '../services/quantities/operations.ts'
import type { Carriers } from './carriers/registry.ts'
import { createNumberCollections } from './collections/operations.ts'
import { numberCollectionRoutes } from './collections/routes.ts'
import { countedNumbers } from './counts.ts'
import { createNumberFeatures } from './features/operations.ts'
import type { FeatureProvider } from './features/providers.ts'
import { createNumberIdentity } from './identity.ts'
import { createMobileNumbers } from './mobile/operations.ts'
import { createNumberPlanning } from './numbering/operations.ts'
import { numberPlanningRoutes } from './numbering/routes.ts'
import { createNumbers } from './operations.ts'
import { phoneNumberRoutes } from './routes.ts'
import type { NumberSearch } from './search/operations.ts'
import { searchQuery, visitOf } from './search/routes.ts'
import { questionIn } from './search/rules.ts'
import { createNumberUpkeep } from './upkeep/operations.ts'

interface Tools {
  store: Store
  queue: Queue
  settings: Settings
  accounts: Accounts
  configs: AccountConfigs
  carriers: Carriers
  search: NumberSearch
  quantities: QuantityBook
  provider: FeatureProvider
}

// The kind of the records that mobile numbers are tied to.
const deviceKind = 'device'

/** Everything that the area has, put together. */
export const createPhoneNumberArea = (tools: Tools) => {
  const { store, queue, settings, accounts, configs, carriers, search, quantities, provider } = tools
  const findAccount = (id: string) => accounts.find(id)
  const resellerSettings = async (account: AccountRecord) =>
    configs.own(await accounts.resellerOf(account), 'number_manager')
  const planning = createNumberPlanning(settings)
  const features = createNumberFeatures({
    clock: store.clock,
    settings,
    provider,
    findAccount,
    resellerSettings,
  })
  const desk = { offered: search.offered, of: carriers.of }
  const numbers = createNumbers({ store, queue, settings, planning, features, provider, desk, findAccount })
  const identity = createNumberIdentity({ numbers, findAccount })
  const findDevice = (accountId: string, id: string) => store.records.find(accountId, deviceKind, id)
  const upkeep = createNumberUpkeep({ store, settings, numbers, findDevice })
  const routes: Route[] = [
    ...phoneNumberRoutes({
      numbers,
      identity,
      upkeep,
      cascadeQuantity: (accountId) => quantities.cascade(accountId, 'phone_numbers'),
      search: (call: Call) => search.inAccount(visitOf(call), questionIn(call.query)),
      searchQuery,
    }),
    ...numberCollectionRoutes(createNumberCollections(numbers), numbers),
    ...numberPlanningRoutes(planning),
  ]
  const counted = (accountId: string) => countedNumbers(numbers.store, accountId)
  /** Numbers that are on their way from or to another carrier: the first hundred. */
  const porting = async (accountId: string) => {
    const found = await numbers.store.porting(accountId, 100)
    return found.flatMap(({ id, state }) =>
      state === 'port_in' || state === 'port_out' ? [{ number: id, state }] : [],
    )
  }
  return {
    numbers,
    counted,
    provider,
    identity,
    upkeep,
    planning,
    porting,
    mobile: createMobileNumbers(numbers),
    routes,
    /** What the area does by itself, now and then. */
    rounds: [upkeep.round, ...numbers.errands.rounds],
  }
}
