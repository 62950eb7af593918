import type { AccountRecord } from '../../../auth/identity.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { Plans } from './plans/operations.ts'
import { type AssignedPlan, mergePlans, type PriceList, type StrategyPriorities } from './pricing/merge.ts'
import type { Bookkeeper, PlanDoc } from './pricing/plan.ts'
import { defaultBookkeeper, type ServicesDoc } from './rules.ts'
import { servicesSettings } from './settings.ts'
import type { ServicesRecord } from './store.ts'

/** What an account is charged by. */
export interface Terms {
  plans: readonly AssignedPlan[]
  lists: readonly PriceList[]
}

/** All that price lists are made of beside the account's own services. */
interface Sources {
  records: readonly ({ doc: PlanDoc } | undefined)[]
  bookkeeper: Bookkeeper
  priorities: StrategyPriorities
}

/** A plan as it was, or could be. */
interface ProposedPlan {
  id: string
  doc: PlanDoc
}

const noTerms: Terms = { plans: [], lists: [] }

const isSame = (a: Sources, b: Sources) =>
  a.priorities === b.priorities &&
  JSON.stringify(a.bookkeeper) === JSON.stringify(b.bookkeeper) &&
  a.records.every((record, index) => record === b.records[index])

const assignedPlans = (doc: ServicesDoc, records: Sources['records']): AssignedPlan[] =>
  Object.entries(doc.plans ?? {}).flatMap(([id, { vendor_id: vendorId, overrides }], index) => {
    const record = records[index]
    return record ? [{ id, vendorId, doc: record.doc, overrides }] : []
  })

const merge = (doc: ServicesDoc, { records, bookkeeper, priorities }: Sources): Terms => {
  const plans = assignedPlans(doc, records)
  const lists = mergePlans(plans, doc.overrides ?? {}, bookkeeper, priorities)
  const tax = doc.tax ? { tax: doc.tax } : {}
  return { plans, lists: lists.map((list) => ({ ...list, ...tax })) }
}

const hasPlans = (doc: ServicesDoc) => Object.keys(doc.plans ?? {}).length > 0

export type PriceLists = ReturnType<typeof createPriceLists>

/** Merged price lists, kept as long as nothing changes that they are made of: merging costs more than pricing. */
export const createPriceLists = (tools: { plans: Plans; accounts: Accounts; settings: Settings }) => {
  const { plans, accounts, settings } = tools
  const pages = new WeakMap<ServicesRecord, { sources: Sources; terms: Terms }>()

  /** Who keeps the books of an account as far as no plan says otherwise. */
  const bookkeeperOf = async (account: AccountRecord, doc: ServicesDoc): Promise<Bookkeeper> => {
    const { master_account_bookkeeper: ofMaster } = await settings.of(servicesSettings)
    const vendor_id = await accounts.resellerOf(account)
    const isOfMaster = vendor_id === (account.hidden.tree[0] ?? account.id)
    const type = isOfMaster && ofMaster ? { type: ofMaster } : {}
    return { ...defaultBookkeeper, ...type, vendor_id, ...doc.bookkeeper }
  }

  const sourcesOf = async (
    account: AccountRecord,
    doc: ServicesDoc,
    instead?: ProposedPlan,
  ): Promise<Sources> => {
    const { merge_strategy_priority: priorities } = await settings.of(servicesSettings)
    const assigned = Object.entries(doc.plans ?? {})
    const records = assigned.map(([id, { vendor_id: vendor }]) =>
      instead?.id === id ? instead : plans.find(vendor, id),
    )
    return {
      records: await Promise.all(records),
      bookkeeper: await bookkeeperOf(account, doc),
      priorities,
    }
  }

  return {
    bookkeeperOf,

    /** By what an account would be charged if these were its services, and `instead` the plan of its id. */
    async draft(account: AccountRecord, doc: ServicesDoc, instead?: ProposedPlan): Promise<Terms> {
      return hasPlans(doc) ? merge(doc, await sourcesOf(account, doc, instead)) : noTerms
    },

    /** By what an account is charged. */
    async of(account: AccountRecord, services: ServicesRecord | undefined): Promise<Terms> {
      if (!services || !hasPlans(services.doc)) return noTerms
      const sources = await sourcesOf(account, services.doc)
      const known = pages.get(services)
      if (known && isSame(known.sources, sources)) return known.terms
      const terms = merge(services.doc, sources)
      pages.set(services, { sources, terms })
      return terms
    },
  }
}
