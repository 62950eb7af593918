import type { Static } from 'typebox'
import { anyObject, anyText, either, flag, integer, keyed, list, must, open, text } from '../../lib/schema.ts'
import { PlanOverrides } from './plans/schema.ts'

const planId = text(32, 32)

const Assignment = open({
  id: must(planId),
  vendor_id: text(32, 32, { description: 'The account that owns the plan: the reseller' }),
  overrides: PlanOverrides,
  contract: anyObject(),
})

const Assignments = list(either([planId, Assignment]), { maxItems: 100 })

const bookkeeper = open({ id: text(1, 128), type: text(1, 64), vendor_id: text(32, 32) })
const ratedeck = open({ id: text(1, 128), name: text(1, 128) })

/** What may be changed at once. `plans` says the same as `add`. */
export const ServicesChange = open({
  add: Assignments,
  plans: Assignments,
  delete: list(planId, { maxItems: 100, description: 'Plans to be taken away' }),
  overrides: PlanOverrides,
  bookkeeper,
  ratedeck,
  billing_id: text(1, 64, { description: 'The account whose standing counts: this one or its parent' }),
})
export type ServicesChange = Static<typeof ServicesChange>

export const PlanAssignment = open({
  vendor_id: text(32, 32),
  overrides: PlanOverrides,
  contract: anyObject(),
})
export type PlanAssignment = Static<typeof PlanAssignment>

export const Quantities = keyed(keyed(integer({ minimum: 0, maximum: 1_000_000_000 })), {
  description: 'Category -> item -> count',
})

export const StandingChange = open({
  in_good_standing: must(flag()),
  reason: text(0, 128),
  reason_code: integer(),
})
export type StandingChange = Static<typeof StandingChange>

export const Standing = open({ in_good_standing: must(flag()), reason: anyText(), reason_code: integer() })

const counted = keyed(keyed(integer()))

export const ServicesAnswer = open({
  account_quantities: must(counted),
  cascade_quantities: must(counted),
  plans: must(anyObject()),
  overrides: must(anyObject()),
  quantities: must(anyObject()),
  billing_id: must(anyText()),
  reseller: must(flag()),
  reseller_id: must(anyText()),
  dirty: must(flag()),
  in_good_standing: must(flag()),
  status: must(anyText()),
  reason: anyText(),
  reason_code: integer(),
  items: must(anyObject()),
})

export const Invoice = open({
  items: must(list(anyObject())),
  activation_charges: must(list(anyObject())),
  summary: must(anyObject()),
  bookkeeper: must(anyObject()),
})

export const Summary = open({
  plans: must(anyObject()),
  overrides: must(anyObject()),
  invoices: must(list(Invoice)),
  quantities: must(anyObject()),
  reseller: must(anyObject()),
  billing_cycle: must(anyObject()),
  status: must(anyObject()),
})
