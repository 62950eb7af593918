import type { AccountRecord } from '../../../../auth/identity.ts'
import type { JobKind } from '../../../../jobs/queue.ts'
import { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ServiceAudit } from '../audit/operations.ts'
import type { PricingData } from '../books.ts'
import { compareInvoices, priceAccount, withoutDues } from '../pricing/invoices.ts'
import { type Repricing, repricingKind } from './operations.ts'
import type { PlanDoc } from './schema.ts'
import { createPlanStore } from './store.ts'

// A plan may have very many accounts: each page of them is one commit with its progress.

const accountsPerPage = 50

/** Adds an audit entry to each account whose invoice an edited plan changes, and synchronizes bookkeepers. */
export const createRepricing = (deps: {
  store: Store
  books: PricingData
  audit: ServiceAudit
}): JobKind<Repricing> => {
  const { store, books, audit } = deps
  const plans = createPlanStore(store)

  const compare = async (account: AccountRecord, { planId: id, before, after }: Repricing) => {
    const services = await books.services.find(account.id)
    if (!services?.doc.plans?.[id]) return []
    const pricedBy = async (doc: PlanDoc) => {
      const { lists } = await books.draft(account, services.doc, { id, doc })
      return priceAccount(lists, await books.counted(account.id, lists))
    }
    const compared = compareInvoices(await pricedBy(before), await pricedBy(after), store.clock.now())
    // New prices apply from the next bill.
    return compared.map(withoutDues)
  }

  const tell = async (accountId: string, payload: Repricing): Promise<ChangeSet[]> => {
    const account = await books.account(accountId)
    if (!account) return []
    const set = new ChangeSet(payload.author)
    const { vendorId } = payload
    const changed = { id: vendorId, name: (await books.account(vendorId))?.doc.name ?? vendorId }
    await audit.add(set, { account, compared: await compare(account, payload), changed, types: ['plan'] })
    return set.changes.length > 0 ? [set] : []
  }

  return {
    kind: repricingKind,
    maxConcurrent: 1,
    async conclude({ payload, dueAt }) {
      const holders = await plans.holdersAfter(payload, accountsPerPage)
      const sets: ChangeSet[] = []
      for (const accountId of holders) sets.push(...(await tell(accountId, payload)))
      const last = holders.at(-1)
      return last === undefined
        ? { state: 'done' }
        : { state: 'waiting', dueAt, payload: { ...payload, told: last }, sets }
    },
  }
}
