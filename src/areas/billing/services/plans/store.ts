import { type ChangeSet, type Claim, conflict } from '../../../../storage/change-set.ts'
import { createCollection } from '../../../../storage/collection.ts'
import { requireRecord, type StoredRecord, sortKeyOf } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type { PlanDoc } from '../pricing/plan.ts'

export type PlanRecord = StoredRecord<PlanDoc, object>

const planKind = 'service_plan'
const assignment = 'plan_assignment'

/** Held by the services of every account that has the plan, under the account whose plan it is. */
export const assignmentClaim = (vendorId: string, planId: string, accountId: string): Claim => ({
  scope: vendorId,
  name: assignment,
  value: `${planId}/${accountId}`,
})

/** How far the accounts that have a plan were told of something. */
export interface PlanAssignment {
  vendorId: string
  planId: string
  /** The last account; empty: none. */
  told: string
}

export const createPlanStore = (store: Store) => {
  const collection = createCollection<PlanDoc, object>(store, {
    kind: planKind,
    sortKey: ({ name }) => sortKeyOf(name),
    row: ({ name, description, category }) => ({ name, description, category }),
  })

  return {
    ...collection,

    /** Services of an account that has the plan, if there is one. */
    async anyHolder({ accountId, id }: PlanRecord) {
      const [holder] = await store.records.claimants(accountId, assignment, `${id}/`, 1)
      return holder
    },

    /** The accounts that have a plan, in the order of their ids, behind the one that was told last. */
    async holdersAfter({ vendorId, planId, told }: PlanAssignment, limit: number): Promise<string[]> {
      const behind = told && `${planId}/${told}`
      const found = await store.records.claimants(vendorId, assignment, `${planId}/`, limit, behind)
      return found.map((holder) => holder.accountId)
    },

    /** Fails the change set unless the plan is there, and keeps it there until the change set is done. */
    hold: (set: ChangeSet, { accountId, id }: PlanRecord) =>
      requireRecord(set, { accountId, kind: planKind, id }),

    /** Fails if an account has the plan: whoever assigns it holds its record, so that no assignment is overlooked. */
    requireUnassigned: (set: ChangeSet, plan: PlanRecord) =>
      set.run(
        'DELETE FROM claims WHERE account_id = $1 AND name = $2 AND value >= $3 AND value < $4',
        [plan.accountId, assignment, `${plan.id}/`, `${plan.id}0`],
        { rows: 0, orElse: conflict },
      ),
  }
}
