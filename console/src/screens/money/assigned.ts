import { isObject } from '../../lib/json.ts'
import { partAt, textAt } from './values.ts'

/** A plan that an account has, with what holds for it there. */
export interface AssignedPlan {
  id: string
  vendor_id?: string
  overrides?: Record<string, unknown>
}

/** The plans of an account as they are given to a quote: one that is left out of it is priced as taken away. */
export const assignedIn = (plans: object): readonly AssignedPlan[] =>
  Object.entries(plans).map(([id, plan]) => {
    const vendor_id = textAt(plan, 'vendor_id')
    const overrides = partAt(plan, 'overrides')
    return {
      id,
      ...(vendor_id === undefined ? {} : { vendor_id }),
      ...(isObject(overrides) && Object.keys(overrides).length > 0 ? { overrides: { ...overrides } } : {}),
    }
  })
