import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { type ChargedItems, withFormerItems } from './charged.ts'
import type { Plans } from './plans/operations.ts'
import type { PlanDoc } from './plans/schema.ts'
import type { PlanRecord } from './plans/store.ts'
import { type Invoice, priceAccount } from './pricing/invoices.ts'
import type { Counted } from './pricing/items.ts'
import {
  type AssignedPlan,
  cascades,
  mergePlans,
  mergeRest,
  type PriceList,
  type StrategyPriorities,
} from './pricing/merge.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import type { QuantityReader } from './quantities/operations.ts'
import { defaultBookkeeper, type ServicesDoc } from './rules.ts'
import { servicesSettings } from './settings.ts'
import { createServicesStore, type ServicesRecord } from './store.ts'

/** By what an account is charged. */
interface Terms {
  plans: readonly AssignedPlan[]
  lists: readonly PriceList[]
}

/** The inputs of price lists besides the account's own services. */
interface TermSources {
  records: readonly ({ doc: PlanDoc } | undefined)[]
  bookkeeper: Bookkeeper
  priorities: StrategyPriorities
}

/** An earlier or possible version of a plan. */
type ProposedPlan = Pick<PlanRecord, 'id' | 'doc'>

const noTerms: Terms = { plans: [], lists: [] }

const areSameSources = (a: TermSources, b: TermSources) =>
  a.priorities === b.priorities &&
  JSON.stringify(a.bookkeeper) === JSON.stringify(b.bookkeeper) &&
  a.records.every((record, index) => record === b.records[index])

const merge = (doc: ServicesDoc, { records, bookkeeper, priorities }: TermSources): Terms => {
  const assigned = Object.entries(doc.plans ?? {})
  const plans = assigned.flatMap(([id, { vendor_id: vendorId, overrides }], index) => {
    const record = records[index]
    return record ? [{ id, vendorId, doc: record.doc, overrides }] : []
  })
  const lists = mergePlans(plans, doc.overrides ?? {}, bookkeeper, priorities)
  const tax = doc.tax ? { tax: doc.tax } : {}
  return { plans, lists: lists.map((list) => ({ ...list, ...tax })) }
}

const hasPlans = (doc: ServicesDoc) => Object.keys(doc.plans ?? {}).length > 0

export type PricingData = ReturnType<typeof createPricingData>

/** All that pricing an account needs to look up. Merged price lists are cached: merging costs more than pricing. */
export const createPricingData = (deps: {
  store: Store
  settings: Settings
  accounts: Accounts
  plans: Plans
  quantities: QuantityReader
}) => {
  const { store, settings, accounts, plans, quantities } = deps
  const services = createServicesStore(store)
  const cached = new WeakMap<ServicesRecord, { sources: TermSources; terms: Terms }>()

  const find = (accountId: string) => store.records.find(accountId, accountKind, accountId)

  const docOf = async (accountId: string): Promise<ServicesDoc> => (await services.find(accountId))?.doc ?? {}

  /** The bookkeeper of plans that name none. */
  const bookkeeperOf = async (account: AccountRecord, doc: ServicesDoc): Promise<Bookkeeper> => {
    const { master_account_bookkeeper: ofMaster } = await settings.of(servicesSettings)
    const vendor_id = await accounts.resellerOf(account)
    const isOfMaster = vendor_id === (account.hidden.tree[0] ?? account.id)
    const type = isOfMaster && ofMaster ? { type: ofMaster } : {}
    return { ...defaultBookkeeper, ...type, vendor_id, ...doc.bookkeeper }
  }

  const sourcesOf = async (account: AccountRecord, doc: ServicesDoc, instead?: ProposedPlan) => {
    const { merge_strategy_priority: priorities } = await settings.of(servicesSettings)
    const records = Object.entries(doc.plans ?? {}).map(([id, { vendor_id: vendor }]) =>
      instead?.id === id ? instead : plans.find(vendor, id),
    )
    return {
      records: await Promise.all(records),
      bookkeeper: await bookkeeperOf(account, doc),
      priorities,
    }
  }

  /** By what an account is charged. The same object as long as nothing changes that it is made of. */
  const terms = async (account: AccountRecord): Promise<Terms> => {
    const record = await services.find(account.id)
    if (!record || !hasPlans(record.doc)) return noTerms
    const sources = await sourcesOf(account, record.doc)
    const known = cached.get(record)
    if (known && areSameSources(known.sources, sources)) return known.terms
    const merged = merge(record.doc, sources)
    cached.set(record, { sources, terms: merged })
    return merged
  }

  /**
   * The quantities of an account that its price lists may count. Quantities of sub-accounts cost a read of all
   * recent moves.
   */
  const counted = async (accountId: string, lists: readonly PriceList[]): Promise<Counted> => {
    const totals = lists.some(cascades)
      ? await quantities.of(accountId)
      : { account: await quantities.own(accountId), cascade: {} }
    return { ...totals, manual: (await docOf(accountId)).manual ?? {} }
  }

  const rests = new WeakMap<Terms, Omit<PlanDoc, 'plan'>>()

  return {
    services,
    docOf,
    bookkeeperOf,
    terms,
    counted,
    account: find,

    /** By what an account would be charged with these services, and with `instead` as the plan of its id. */
    async draft(account: AccountRecord, doc: ServicesDoc, instead?: ProposedPlan): Promise<Terms> {
      return hasPlans(doc) ? merge(doc, await sourcesOf(account, doc, instead)) : noTerms
    },

    /** The parent accounts of an account, top first. */
    treeOf: async (accountId: string) => (await find(accountId))?.hidden.tree ?? [],

    /** Whether plans price anything of what an account has; for removals also whether any ever did. */
    async isPaying(accountId: string, isRemoving: boolean) {
      const account = await find(accountId)
      if (!account) return false
      if ((await terms(account)).lists.length > 0) return true
      return isRemoving && (await docOf(accountId)).plans !== undefined
    },

    /**
     * The price lists of an account. `charged` adds items that were charged this month and no longer have a
     * price.
     */
    async lists(account: AccountRecord, charged?: ChargedItems): Promise<readonly PriceList[]> {
      const { lists } = await terms(account)
      if (!charged || charged.size === 0) return lists
      return withFormerItems(lists, charged, await bookkeeperOf(account, await docOf(account.id)))
    },

    /** What the account's plans contain besides prices: limits, the ratedeck and so on. */
    async rest(account: AccountRecord): Promise<Omit<PlanDoc, 'plan'>> {
      const found = await terms(account)
      if (found.plans.length === 0) return {}
      const known = rests.get(found) ?? mergeRest(found.plans, (await docOf(account.id)).overrides ?? {})
      rests.set(found, known)
      return known
    },

    /** The current monthly invoices of an account. */
    async invoices(account: AccountRecord): Promise<Invoice[]> {
      const { lists } = await terms(account)
      return priceAccount(lists, await counted(account.id, lists))
    },
  }
}
