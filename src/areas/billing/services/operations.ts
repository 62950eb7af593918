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
import type { PlanDoc } from './plans/schema.ts'
import type { PlanRecord } from './plans/store.ts'
import { compareInvoices, type Invoice, invoiceJson, priceAccount } from './pricing/invoices.ts'
import { mergeRest } from './pricing/merge.ts'
import type { QuantityReader } from './quantities/operations.ts'
import type { Quantities } from './quantities/rules.ts'
import {
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

const combined = <T extends object>(before: T | undefined, given: T, mode: ChangeMode): T =>
  (mode === 'merge' ? mergePatch(before ?? {}, given) : given) as T

const requireSize = (before: readonly Invoice[], after: readonly Invoice[], prefix: '' | 'plan.') => {
  const problems = sizeProblems(before, after, (category, item) => `${prefix}${category}.${item}`)
  if (hasProblems(problems)) throw invalid(problems)
}

const assertBillable = ({ id, hidden: { tree } }: AccountRecord, billingId: string) => {
  if (!mayBeBilledBy(billingId, { id, parentId: tree.at(-1) })) throw failure(invalidBillingId, {})
}

const assignmentOf = (plan: PlanRecord, { overrides = {} }: PlanAssignment) => ({
  vendor_id: plan.accountId,
  overrides,
})

/** The record that a patch was merged into: a concurrent change is not overwritten. */
interface Read {
  before: ServicesRecord | undefined
}

/** Plans of the account's reseller, and what services cost or would cost. */
const drafting = ({ accounts, plans, vendors, books, quantities, isDirty }: Deps) => {
  const planFor = async (account: AccountRecord, planId: string, vendorId: string | undefined) => {
    const seller = await accounts.resellerOf(account)
    const isSold = vendorId === undefined || vendorId === seller
    const plan = isSold ? await plans.find(seller, planId) : undefined
    if (!plan) throw failure(badIdentifier, { cause: planId })
    return plan
  }

  const price = async (account: AccountRecord, doc: ServicesDoc, counts: AccountCounts) => {
    const { plans: merged, lists } = await books.draft(account, doc)
    const counted = { ...counts, manual: doc.manual ?? {} }
    return { plans: merged, counted, invoices: priceAccount(lists, counted) }
  }

  return {
    planFor,

    /** The plans after a change, and the new ones among them. */
    async changedPlans(account: AccountRecord, doc: ServicesDoc, change: ServicesChange) {
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
    },

    price,

    async view(account: AccountRecord, doc: ServicesDoc) {
      const { counted, invoices } = await price(account, doc, await quantities.of(account.id))
      return {
        account_quantities: counted.account,
        cascade_quantities: counted.cascade,
        plans: doc.plans ?? {},
        overrides: doc.overrides ?? {},
        quantities: counted,
        billing_id: doc.billing_id ?? account.id,
        reseller: account.hidden.isReseller,
        reseller_id: await accounts.resellerOf(account),
        bookkeeper: await books.bookkeeperOf(account, doc),
        ...(doc.ratedeck ? { ratedeck: doc.ratedeck } : {}),
        ...(doc.tax ? { tax: doc.tax } : {}),
        dirty: await isDirty(account.id),
        status: doc.status ?? 'good_standing',
        ...standingJson(doc),
        items: flatItems(invoices),
      }
    },
  }
}

type Drafting = ReturnType<typeof drafting>

const reading = (deps: Deps, { price, changedPlans, view }: Drafting) => {
  const { store, accounts, plans, books, quantities, standings } = deps
  const docOf = (account: AccountRecord) => books.docOf(account.id)

  type Priced = Awaited<ReturnType<Drafting['price']>>

  const summaryOf = async (account: AccountRecord, doc: ServicesDoc, priced: Priced) => {
    const { ratedeck, applications, limits, im } = mergeRest(priced.plans, doc.overrides ?? {})
    return {
      plans: doc.plans ?? {},
      overrides: doc.overrides ?? {},
      invoices: priced.invoices.map(invoiceJson),
      quantities: priced.counted,
      reseller: { id: await accounts.resellerOf(account), is_reseller: account.hidden.isReseller },
      ratedeck: doc.ratedeck ?? ratedeck ?? {},
      applications: offeredApplications(applications ?? {}, masterIdOf(account)),
      limits: limits ?? {},
      im: pricedMessages(im ?? {}),
      payment_tokens: doc.payment_tokens ?? {},
      billing_cycle: billingCycle(store.clock.now()),
      status: await standings.of(account, 1),
    }
  }

  const quoted = async (
    account: AccountRecord,
    doc: ServicesDoc,
    counts: AccountCounts,
    { delete: removed = [], ...change }: ServicesChange,
  ) => {
    const { plans: proposed } = await changedPlans(account, { ...doc, plans: {} }, change)
    const left = Object.entries(proposed).filter(([id]) => !removed.includes(id))
    const { overrides = doc.overrides ?? {}, tax = doc.tax ?? {} } = change
    const after = { ...doc, plans: Object.fromEntries(left), overrides, tax }
    const priced = await price(account, after, counts)
    requireSize([], priced.invoices, 'plan.')
    return summaryOf(account, after, priced)
  }

  /** The ratedeck of the account itself, else of its plans. */
  const ratedeckNamed = async (account: AccountRecord) =>
    (await docOf(account)).ratedeck?.id ?? (await books.rest(account)).ratedeck?.id

  const standing = async (account: AccountRecord) =>
    standingJson(await docOf(await standings.payerOf(account)))

  return {
    find: (account: AccountRecord) => books.services.find(account.id),
    sellerOf: accounts.resellerOf,
    rest: books.rest,
    invoices: books.invoices,
    standing,

    hasPlans: async (account: AccountRecord) => Object.keys((await docOf(account)).plans ?? {}).length > 0,

    /** The ratedeck of an account, else of its reseller; undefined: the default one. */
    async ratedeckOf(account: AccountRecord): Promise<string | undefined> {
      const own = await ratedeckNamed(account)
      if (own !== undefined) return own
      const reseller = await books.account(await accounts.resellerOf(account))
      return reseller && reseller.id !== account.id ? ratedeckNamed(reseller) : undefined
    },

    read: async (account: AccountRecord) => view(account, await docOf(account)),

    /** Whether the operator and the bookkeepers allow more charges. */
    async isGood(account: AccountRecord): Promise<boolean> {
      const { in_good_standing: isGood } = await standing(account)
      return isGood && (await standings.of(account, 1)).acceptable
    },

    async summary(account: AccountRecord) {
      const doc = await docOf(account)
      return summaryOf(account, doc, await price(account, doc, await quantities.of(account.id)))
    },

    /** The price of exactly these plans. Nothing is saved. */
    quote: async (account: AccountRecord, change: ServicesChange) =>
      quoted(account, await docOf(account), await quantities.of(account.id), change),

    /** The price of the operator's plans for a new account. */
    async quoteForNobody(by: AccountRecord, change: ServicesChange) {
      const master = await books.account(masterIdOf(by))
      return quoted(master ?? by, {}, { account: {}, cascade: {} }, change)
    },

    sold: async (account: AccountRecord) => ({ seller: await accounts.resellerOf(account), plans }),
  }
}

/** Stores services and audits the change of invoices. The commit fails if one of the `held` plans is gone. */
const saving =
  ({ store, books, plans, quantities, audit }: Deps, { price }: Drafting) =>
  async (
    { author, account }: Writer,
    before: ServicesRecord | undefined,
    doc: ServicesDoc,
    { held = [], type = 'account' }: { held?: readonly PlanRecord[]; type?: AuditReason } = {},
  ): Promise<ServicesDoc> => {
    const set = new ChangeSet(author)
    books.services.put(set, account.id, before, doc)
    for (const plan of held) plans.hold(set, plan)
    const counts = await quantities.of(account.id)
    const had = await price(account, before?.doc ?? {}, counts)
    const has = await price(account, doc, counts)
    requireSize(had.invoices, has.invoices, type === 'manual' ? '' : 'plan.')
    const compared = compareInvoices(had.invoices, has.invoices, store.clock.now())
    const changed = { id: account.id, name: account.doc.name }
    await audit.add(set, { account, compared, changed, types: [type] })
    if (type === 'manual') audit.setManual(set, account.id, had.counted.manual, has.counted.manual, counts)
    await store.commit(set)
    return doc
  }

const changing = (deps: Deps, drafts: Drafting) => {
  const { vendors, books } = deps
  const { services } = books
  const { planFor, changedPlans, view } = drafts
  const save = saving(deps, drafts)

  return {
    /** Changes plans, overrides and payer: all or nothing. */
    async change(writer: Writer, change: ServicesChange, mode: ChangeMode) {
      const { account } = writer
      const before = await services.find(account.id)
      const doc = before?.doc ?? {}
      const { overrides, bookkeeper, ratedeck, tax, billing_id } = change
      if (billing_id !== undefined) assertBillable(account, billing_id)
      await vendors.assertMaySell(account, change, overrides)
      const { plans, held } = await changedPlans(account, doc, change)
      const changed = present({
        overrides: overrides && combined(doc.overrides, overrides, mode),
        bookkeeper,
        ratedeck,
        tax: tax && combined(doc.tax, tax, mode),
        billing_id,
      })
      return view(account, await save(writer, before, { ...doc, plans, ...changed }, { held }))
    },

    /** Assigns a plan, or changes its overrides. */
    async assign(writer: Writer, planId: string, data: PlanAssignment, mode: ChangeMode) {
      const { account } = writer
      const before = await services.find(account.id)
      const plan = await planFor(account, planId, data.vendor_id)
      await vendors.assertMaySell(account, plan.doc, data.overrides)
      const assignment = assignmentOf(plan, data)
      const known = before?.doc.plans?.[planId]
      if (known) assignment.overrides = combined(known.overrides, assignment.overrides, mode)
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
    async setManual(writer: Writer, manual: Quantities, mode: ChangeMode, read?: Read) {
      const { before } = read ?? { before: await services.find(writer.account.id) }
      const after = { ...before?.doc, manual: combined(before?.doc.manual, manual, mode) }
      return (await save(writer, before, after, { type: 'manual' })).manual
    },

    async setOverrides(writer: Writer, overrides: PlanDoc, mode: ChangeMode, read?: Read) {
      await vendors.assertMaySell(writer.account, overrides)
      const { before } = read ?? { before: await services.find(writer.account.id) }
      const after = { ...before?.doc, overrides: combined(before?.doc.overrides, overrides, mode) }
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
  }
}

export type Services = ReturnType<typeof createServices>

/** The plans of accounts, their counts, and their prices. */
export const createServices = (deps: Deps) => {
  const drafts = drafting(deps)
  return { ...reading(deps, drafts), ...changing(deps, drafts) }
}
