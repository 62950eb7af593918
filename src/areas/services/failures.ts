import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const servicesFailures = {
  invalid_billing_id: (): FailureAnswer => ({
    status: 400,
    message: 'invalid_billing_id',
    data: { billing_id: { invalid: 'Requested billing id is not the parent of this account' } },
  }),
  plan_is_not_assigned: ({ cause }: { cause: string }): FailureAnswer => ({
    status: 400,
    message: 'plan_is_not_assigned',
    data: { message: 'plan is not assigned', cause },
  }),
}

type Owned = DetailsOf<typeof servicesFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
