import { datastoreConflict, failure, forbidden } from '../../../../lib/failure.ts'
import { newId } from '../../../../lib/ids.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { JobDraft } from '../../../../storage/job-draft.ts'
import type { Store } from '../../../../storage/store.ts'
import { records } from '../../../records.ts'
import type { Vendors } from '../vendors.ts'
import { itemProblems } from './rules.ts'
import { type PlanDoc, ServicePlan } from './schema.ts'
import { createPlanStore, type PlanAssignment, type PlanRecord } from './store.ts'

/** An edited plan whose accounts are still to be audited. */
export interface Repricing extends PlanAssignment {
  author: Author
  before: PlanDoc
  after: PlanDoc
}

export const repricingKind = 'repricing'

/** Committed with the edit. Edits of one plan are handled in their order. */
const repricingOf = (
  { author }: ChangeSet,
  { doc: before }: PlanRecord,
  { accountId, id: planId, doc: after }: PlanRecord,
  at: number,
): JobDraft<Repricing> => ({
  kind: repricingKind,
  id: newId(at),
  accountId,
  subject: `service_plan/${planId}`,
  payload: { author, vendorId: accountId, planId, before, after, told: '' },
})

export type Plans = ReturnType<typeof createPlans>

export const createPlans = (store: Store, vendors: Vendors) => {
  const plans = createPlanStore(store)
  const kept = records(store, {
    collection: plans,
    shape: { body: ServicePlan, record: ServicePlan, computed: [] },
    problems: async ({ data }) => itemProblems(data.plan),
    async beforeWrite(set, { account, before, after }) {
      if (!before && !account.hidden.isReseller)
        throw failure(forbidden, { message: 'only resellers have service plans' })
      await vendors.assertMayUse(account, after.doc)
      if (before) set.job(repricingOf(set, before, after, store.clock.now()))
    },
    async beforeDelete(set, plan) {
      const holder = await plans.anyHolder(plan)
      if (holder) {
        const message = `the plan is assigned to account ${holder.accountId}`
        throw failure(datastoreConflict, { message })
      }
      plans.requireUnassigned(set, plan)
    },
  })

  /** `hold`: fails the change set unless the plan still exists. */
  return { ...kept, hold: plans.hold }
}
