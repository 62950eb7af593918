import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import type { Store } from '../../../storage/store.ts'
import { type ChargedItems, withFormerItems } from './charged.ts'
import type { PriceLists, Terms } from './price-book.ts'
import { type Invoice, priceAccount } from './pricing/invoices.ts'
import type { Counted } from './pricing/items.ts'
import { cascades, mergeRest, type PriceList } from './pricing/merge.ts'
import type { PlanDoc } from './pricing/plan.ts'
import type { QuantityReader } from './quantities/operations.ts'
import { createServicesStore, type ServicesRecord } from './store.ts'

export type PricingData = ReturnType<typeof createPricingData>

/** What plans say beside prices. */
type PlanRest = Omit<PlanDoc, 'plan'>

/** All that pricing an account needs to look up. */
export const createPricingData = (tools: {
  store: Store
  priceBook: PriceLists
  quantities: QuantityReader
}) => {
  const { store, priceBook, quantities } = tools
  const services = createServicesStore(store)

  const terms = async (account: AccountRecord): Promise<Terms> =>
    priceBook.of(account, await services.find(account.id))

  const manualOf = (record: ServicesRecord | undefined) => record?.doc.manual ?? {}

  // What those below have costs a look at everything that moved just now: only for who pays for it.
  const quantitiesFor = async (accountId: string, lists: readonly PriceList[]) =>
    lists.some(cascades)
      ? quantities.of(accountId)
      : { account: await quantities.own(accountId), cascade: {} }

  /** What an account has of what its price lists may count. */
  const counted = async (accountId: string, lists: readonly PriceList[]): Promise<Counted> => ({
    ...(await quantitiesFor(accountId, lists)),
    manual: manualOf(await services.find(accountId)),
  })

  const rests = new WeakMap<Terms, PlanRest>()

  /** Terms stay the same object as long as nothing changes that they are made of. */
  const rest = async (account: AccountRecord): Promise<PlanRest> => {
    const found = await terms(account)
    if (found.plans.length === 0) return {}
    const overrides = (await services.find(account.id))?.doc.overrides ?? {}
    const known = rests.get(found) ?? mergeRest(found.plans, overrides)
    rests.set(found, known)
    return known
  }

  const find = (accountId: string) => store.records.find(accountId, accountKind, accountId)

  return {
    services,
    terms,
    counted,
    account: find,

    /** Those who stand above an account, top first. */
    treeOf: async (accountId: string) => (await find(accountId))?.hidden.tree ?? [],

    /** Whether plans price anything of what an account has; of what is removed, whether any ever did. */
    async isPaying(accountId: string, isRemoving: boolean) {
      const account = await find(accountId)
      if (!account) return false
      if ((await terms(account)).lists.length > 0) return true
      return isRemoving && (await services.find(accountId))?.doc.plans !== undefined
    },

    /** What an account is charged by. `charged`: with the items that were charged this month and have no price any more. */
    async lists(account: AccountRecord, charged?: ChargedItems): Promise<readonly PriceList[]> {
      const { lists } = await terms(account)
      if (!charged || charged.size === 0) return lists
      const doc = (await services.find(account.id))?.doc ?? {}
      return withFormerItems(lists, charged, await priceBook.bookkeeperOf(account, doc))
    },

    /** What the account's plans say beside prices: limits, the ratedeck and so on. */
    rest,

    /** What an account pays as things are. */
    async invoices(account: AccountRecord): Promise<Invoice[]> {
      const { lists } = await terms(account)
      return priceAccount(lists, await counted(account.id, lists))
    },
  }
}
