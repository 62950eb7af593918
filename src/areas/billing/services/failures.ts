import { failureKind } from '../../../lib/failure.ts'

export const invalidBillingId = failureKind('invalid_billing_id', () => ({
  status: 400,
  message: 'invalid_billing_id',
  data: { billing_id: { invalid: 'Requested billing id is not the parent of this account' } },
}))

export const planIsNotAssigned = failureKind('plan_is_not_assigned', ({ cause }: { cause: string }) => ({
  status: 400,
  message: 'plan_is_not_assigned',
  data: { message: 'plan is not assigned', cause },
}))
