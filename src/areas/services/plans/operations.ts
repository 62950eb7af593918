import type { AccountRecord } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { readsOf } from '../../../storage/collection.ts'
import type { Store } from '../../../storage/store.ts'
import type { PlanDoc } from '../pricing/plan.ts'
import type { Vendors } from '../vendors.ts'
import { repricingOf } from './repricing.ts'
import { createPlanStore, type PlanRecord } from './store.ts'

interface Replacement {
  before: PlanRecord
  doc: PlanDoc
}

export type Plans = ReturnType<typeof createPlans>

/** The price lists that resellers sell by. */
export const createPlans = ({ store, vendors }: { store: Store; vendors: Vendors }) => {
  const plans = createPlanStore(store)

  return {
    ...readsOf(plans),

    /** Fails the change set unless the plan is still there. */
    hold: plans.hold,

    async create(author: Author, account: AccountRecord, doc: PlanDoc): Promise<PlanRecord> {
      if (!account.hidden.isReseller)
        throw failure('forbidden', { message: 'only resellers have service plans of their own' })
      await vendors.assertMayUse(account, doc)
      const plan = plans.draft(account.id, { doc, hidden: {} })
      const set = new ChangeSet(author)
      plans.insert(set, plan)
      await store.commit(set)
      return plan
    },

    async replace(author: Author, owner: AccountRecord, { before, doc }: Replacement): Promise<PlanRecord> {
      await vendors.assertMayUse(owner, doc)
      const after = plans.revise(before, { doc })
      const set = new ChangeSet(author)
      plans.replace(set, before, after)
      set.errand(repricingOf(author, before, after, store.clock.now()))
      await store.commit(set)
      return after
    },

    /** Only a plan that no account has. */
    async remove(author: Author, plan: PlanRecord): Promise<PlanRecord> {
      const holder = await plans.anyHolder(plan)
      if (holder) {
        const message = `the plan is assigned to account ${holder.accountId}`
        throw failure('datastore_conflict', { message })
      }
      const set = new ChangeSet(author)
      plans.removeUnassigned(set, plan)
      await store.commit(set)
      return plan
    },
  }
}
