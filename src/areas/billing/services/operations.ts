import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure, hasProblems, invalid } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import { mergePatch } from '../../../lib/json-merge.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { Writer } from '../../records.ts'
import type { ServiceAudit } from './audit/operations.ts'
import type { AuditReason } from './audit/rules.ts'
import type { PaymentStatuses } from './bookkeepers.ts'
import type { PricingData } from './books.ts'
import { invalidBillingId, planIsNotAssigned } from './failures.ts'
import type { Plans } from './plans/operations.ts'
import type { PlanRecord } from './plans/store.ts'
import { compareInvoices, type Invoice, invoiceJson, priceAccount } from './pricing/invoices.ts'
import { mergeRest } from './pricing/merge.ts'
import type { PlanDoc } from './pricing/plan.ts'
import type { QuantityReader } from './quantities/operations.ts'
import type { Quantities } from './quantities/rules.ts'
import {
  type Assignment,
  billingCycle,
  flatItems,
  mayBeBilledBy,
  offeredApplications,
  pricedMessages,
  type ServicesDoc,
  sizeProblems,
  standingJson,
} from './rules.ts'
import type { PlanAssignment, ServicesChange, StandingChange } from './schema.ts'
import type { ServicesRecord } from './store.ts'
import type { Vendors } from './vendors.ts'

export type ChangeMode = 'replace' | 'merge'

interface Deps extends DepsOf<'store'> {
  accounts: Accounts
  plans: Plans
  vendors: Vendors
  books: PricingData
  quantities: QuantityReader
  standings: PaymentStatuses
  audit: ServiceAudit
  /** Whether a bookkeeper does not have the latest invoice yet. */
  isDirty(accountId: string): Promise<boolean>
}

type AccountCounts = Awaited<ReturnType<QuantityReader['of']>>

const masterIdOf = ({ id, hidden: { tree } }: AccountRecord) => tree[0] ?? id

const combined = <T extends object>(before: T | undefined, given: T, manner: ChangeMode): T =>
  (manner === 'merge' ? mergePatch(before ?? {}, given) : given) as T

const requireSize = (before: readonly Invoice[], after: readonly Invoice[], prefix: '' | 'plan.') => {
  const problems = sizeProblems(before, after, (category, item) => `${prefix}${category}.${item}`)
  if (hasProblems(problems)) throw invalid(problems)
}

/** The record that a patch was merged into: a concurrent change is not overwritten. */
interface Read {
  before: ServicesRecord | undefined
}

export type Services = ReturnType<typeof createServices>

/** What accounts are sold, their counts, and their prices. */
export const createServices = (tools: Deps) => {
  const { store, accounts, plans, vendors, books, quantities, standings, audit, isDirty } = tools
  const { services } = books

  const docOf = (account: AccountRecord) => books.docOf(account.id)

  const sellerOf = (account: AccountRecord) => accounts.resellerOf(account)

  /** A plan of the account's reseller. */
  const planFor = async (account: AccountRecord, planId: string, vendorId: string | undefined) => {
    const seller = await sellerOf(account)
    const isSold = vendorId === undefined || vendorId === seller
    const plan = isSold ? await plans.find(seller, planId) : undefined
    if (!plan) throw failure(badIdentifier, { cause: planId })
    return plan
  }

  /** Stores services and audits the change of invoices. The commit fails if one of the `held` plans is gone. */
  const save = async (
    { author, account }: Writer,
    before: ServicesRecord | undefined,
    doc: ServicesDoc,
    { held = [], type = 'account' }: { held?: readonly PlanRecord[]; type?: AuditReason } = {},
  ): Promise<ServicesDoc> => {
    const set = new ChangeSet(author)
    services.put(set, account.id, before, doc)
    for (const plan of held) plans.hold(set, plan)
    const counts = await quantities.of(account.id)
    const priced = async (of: ServicesDoc) =>
      priceAccount((await books.draft(account, of)).lists, { ...counts, manual: of.manual ?? {} })
    const [had, has] = [await priced(before?.doc ?? {}), await priced(doc)]
    requireSize(had, has, type === 'manual' ? '' : 'plan.')
    const compared = compareInvoices(had, has, store.clock.now())
    const changed = { id: account.id, name: account.doc.name }
    await audit.add(set, { account, compared, changed, types: [type] })
    if (type === 'manual')
      audit.setManual(set, account.id, before?.doc.manual ?? {}, doc.manual ?? {}, counts)
    await store.commit(set)
    return doc
  }

  const assignmentOf = (plan: PlanRecord, { overrides }: PlanAssignment): Assignment => ({
    vendor_id: plan.accountId,
    overrides: overrides ?? {},
  })

  /** The plans after a change, and the new ones among them. */
  const changedPlans = async (account: AccountRecord, doc: ServicesDoc, change: ServicesChange) => {
    const after = { ...doc.plans }
    for (const id of change.delete ?? []) {
      if (!after[id]) throw failure(planIsNotAssigned, { cause: id })
      delete after[id]
    }
    const held: PlanRecord[] = []
    for (const added of [...(change.add ?? []), ...(change.plans ?? [])]) {
      const assignment = typeof added === 'string' ? { id: added } : added
      const plan = await planFor(account, assignment.id, assignment.vendor_id)
      after[plan.id] = assignmentOf(plan, assignment)
      await vendors.assertMaySell(account, plan.doc, assignment.overrides)
      held.push(plan)
    }
    return { plans: after, held }
  }

  const view = async (account: AccountRecord, doc: ServicesDoc) => {
    const counts = await quantities.of(account.id)
    const { lists } = await books.draft(account, doc)
    const manual = doc.manual ?? {}
    return {
      account_quantities: counts.account,
      cascade_quantities: counts.cascade,
      plans: doc.plans ?? {},
      overrides: doc.overrides ?? {},
      quantities: { account: counts.account, cascade: counts.cascade, manual },
      billing_id: doc.billing_id ?? account.id,
      reseller: account.hidden.isReseller,
      reseller_id: await sellerOf(account),
      bookkeeper: await books.bookkeeperOf(account, doc),
      ...(doc.ratedeck ? { ratedeck: doc.ratedeck } : {}),
      ...(doc.tax ? { tax: doc.tax } : {}),
      dirty: await isDirty(account.id),
      status: doc.status ?? 'good_standing',
      ...standingJson(doc),
      items: flatItems(priceAccount(lists, { ...counts, manual })),
    }
  }

  const summaryOf = async (account: AccountRecord, doc: ServicesDoc, counts: AccountCounts) => {
    const terms = await books.draft(account, doc)
    const manual = doc.manual ?? {}
    const invoices = priceAccount(terms.lists, { ...counts, manual })
    const { ratedeck, applications, limits, im } = mergeRest(terms.plans, doc.overrides ?? {})
    return {
      plans: doc.plans ?? {},
      overrides: doc.overrides ?? {},
      invoices: invoices.map(invoiceJson),
      quantities: { account: counts.account, cascade: counts.cascade, manual },
      reseller: { id: await sellerOf(account), is_reseller: account.hidden.isReseller },
      ratedeck: doc.ratedeck ?? ratedeck ?? {},
      applications: offeredApplications(applications ?? {}, masterIdOf(account)),
      limits: limits ?? {},
      im: pricedMessages(im ?? {}),
      payment_tokens: doc.payment_tokens ?? {},
      billing_cycle: billingCycle(store.clock.now()),
      status: await standings.of(account, 1),
    }
  }

  const assertBillable = (account: AccountRecord, billingId: string) => {
    const parentId = account.hidden.tree.at(-1)
    if (mayBeBilledBy(billingId, { id: account.id, parentId })) return
    throw failure(invalidBillingId, {})
  }

  /** The ratedeck of the account itself, else of its plans. */
  const ratedeckNamed = async (account: AccountRecord) =>
    (await docOf(account)).ratedeck?.id ?? (await books.rest(account)).ratedeck?.id

  const quoted = async (
    account: AccountRecord,
    doc: ServicesDoc,
    counts: AccountCounts,
    change: ServicesChange,
  ) => {
    const { plans: proposed } = await changedPlans(account, { ...doc, plans: {} }, { ...change, delete: [] })
    const removed = new Set(change.delete ?? [])
    const plansLeft = Object.fromEntries(Object.entries(proposed).filter(([id]) => !removed.has(id)))
    const overrides = change.overrides ?? doc.overrides ?? {}
    const tax = change.tax ?? doc.tax ?? {}
    const priced = { ...doc, plans: plansLeft, overrides, tax }
    const { lists } = await books.draft(account, priced)
    requireSize([], priceAccount(lists, { ...counts, manual: doc.manual ?? {} }), 'plan.')
    return summaryOf(account, priced, counts)
  }

  const standing = async (account: AccountRecord) =>
    standingJson(await docOf(await standings.payerOf(account)))

  return {
    find: (account: AccountRecord) => services.find(account.id),
    sellerOf,

    hasPlans: async (account: AccountRecord) => Object.keys((await docOf(account)).plans ?? {}).length > 0,

    rest: books.rest,

    /** The ratedeck of an account, else of its reseller; undefined: the default one. */
    async ratedeckOf(account: AccountRecord): Promise<string | undefined> {
      const own = await ratedeckNamed(account)
      if (own !== undefined) return own
      const reseller = await books.account(await sellerOf(account))
      return reseller && reseller.id !== account.id ? ratedeckNamed(reseller) : undefined
    },

    read: async (account: AccountRecord) => view(account, await docOf(account)),

    /** Changes plans, overrides and payer: all or nothing. */
    async change(writer: Writer, change: ServicesChange, manner: ChangeMode) {
      const { account } = writer
      const before = await services.find(account.id)
      const doc = before?.doc ?? {}
      if (change.billing_id !== undefined) assertBillable(account, change.billing_id)
      await vendors.assertMaySell(account, change, change.overrides)
      const { plans: assigned, held } = await changedPlans(account, doc, change)
      const after: ServicesDoc = { ...doc, plans: assigned }
      if (change.overrides) after.overrides = combined(doc.overrides, change.overrides, manner)
      if (change.bookkeeper) after.bookkeeper = change.bookkeeper
      if (change.ratedeck) after.ratedeck = change.ratedeck
      if (change.tax) after.tax = combined(doc.tax, change.tax, manner)
      if (change.billing_id !== undefined) after.billing_id = change.billing_id
      return view(account, await save(writer, before, after, { held }))
    },

    /** Assigns a plan, or changes its overrides. */
    async assign(writer: Writer, planId: string, data: PlanAssignment, manner: ChangeMode) {
      const { account } = writer
      const before = await services.find(account.id)
      const plan = await planFor(account, planId, data.vendor_id)
      await vendors.assertMaySell(account, plan.doc, data.overrides)
      const assignment = assignmentOf(plan, data)
      const known = before?.doc.plans?.[planId]
      if (known) assignment.overrides = combined(known.overrides, assignment.overrides, manner)
      const after = { ...before?.doc, plans: { ...before?.doc.plans, [planId]: assignment } }
      return view(account, await save(writer, before, after, { held: [plan] }))
    },

    /** Unassigns a plan of the reseller. Without the assignment nothing changes. */
    async unassign(writer: Writer, planId: string) {
      const { account } = writer
      const before = await services.find(account.id)
      if (!before?.doc.plans?.[planId]) {
        await planFor(account, planId, undefined)
        return view(account, before?.doc ?? {})
      }
      const { [planId]: _, ...rest } = before.doc.plans
      return view(account, await save(writer, before, { ...before.doc, plans: rest }))
    },

    /** Manual counts replace the account's own. */
    async setManual(writer: Writer, manual: Quantities, manner: ChangeMode, read?: Read) {
      const { before } = read ?? { before: await services.find(writer.account.id) }
      const after = { ...before?.doc, manual: combined(before?.doc.manual, manual, manner) }
      return (await save(writer, before, after, { type: 'manual' })).manual
    },

    async setOverrides(writer: Writer, overrides: PlanDoc, manner: ChangeMode, read?: Read) {
      await vendors.assertMaySell(writer.account, overrides)
      const { before } = read ?? { before: await services.find(writer.account.id) }
      const after = { ...before?.doc, overrides: combined(before?.doc.overrides, overrides, manner) }
      return (await save(writer, before, after)).overrides
    },

    /** Set by the operator: whether the account may be charged more. */
    async setStanding(writer: Writer, { in_good_standing: isGood, reason, reason_code }: StandingChange) {
      const before = await services.find(writer.account.id)
      const { reason: _, reason_code: __, ...rest } = before?.doc ?? {}
      const status = isGood ? 'good_standing' : 'delinquent'
      return standingJson(
        await save(writer, before, { ...rest, status, ...present({ reason, reason_code }) }),
      )
    },

    /** Whether the operator and the bookkeepers allow more charges. */
    async isGood(account: AccountRecord): Promise<boolean> {
      const { in_good_standing: isGood } = await standing(account)
      return isGood && (await standings.of(account, 1)).acceptable
    },

    standing,

    summary: async (account: AccountRecord) =>
      summaryOf(account, await docOf(account), await quantities.of(account.id)),

    /** The price of exactly these plans. Nothing is saved. */
    quote: async (account: AccountRecord, change: ServicesChange) =>
      quoted(account, await docOf(account), await quantities.of(account.id), change),

    /** The price of the operator's plans for a new account. */
    async quoteForNobody(by: AccountRecord, change: ServicesChange) {
      const master = await books.account(masterIdOf(by))
      return quoted(master ?? by, {}, { account: {}, cascade: {} }, change)
    },

    sold: async (account: AccountRecord) => ({ seller: await sellerOf(account), plans }),

    invoices: books.invoices,
  }
}
