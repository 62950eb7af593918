import { type ChangeSet, type Claim, conflict } from '../../../../storage/change-set.ts'
import { createCollection } from '../../../../storage/collection.ts'
import { requireRecord, type StoredRecord, sortKeyOf } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type { PlanDoc } from './schema.ts'

export type PlanRecord = StoredRecord<PlanDoc, object>

const planKind = 'service_plan'
const assignment = 'plan_assignment'

/** A claim of the services of every account with the plan, under the plan's account. */
export const assignmentClaim = (vendorId: string, planId: string, accountId: string): Claim => ({
  scope: vendorId,
  name: assignment,
  value: `${planId}/${accountId}`,
})

/** The progress through the accounts of a plan. */
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

    async anyHolder({ accountId, id }: PlanRecord) {
      const [holder] = await store.records.claimants(accountId, assignment, `${id}/`, 1)
      return holder
    },

    /** The next accounts that have a plan, ordered by id. */
    async holdersAfter({ vendorId, planId, told }: PlanAssignment, limit: number): Promise<string[]> {
      const behind = told && `${planId}/${told}`
      const found = await store.records.claimants(vendorId, assignment, `${planId}/`, limit, behind)
      return found.map((holder) => holder.accountId)
    },

    /** Fails the change set unless the plan exists, and locks it until the commit. */
    hold: (set: ChangeSet, { accountId, id }: PlanRecord) =>
      requireRecord(set, { accountId, kind: planKind, id }),

    /** Fails if an account has the plan. Assignments lock its record, so none is missed. */
    requireUnassigned: (set: ChangeSet, plan: PlanRecord) =>
      set.run(
        'DELETE FROM claims WHERE account_id = $1 AND name = $2 AND value >= $3 AND value < $4',
        [plan.accountId, assignment, `${plan.id}/`, `${plan.id}0`],
        { rows: 0, orElse: conflict },
      ),
  }
}
