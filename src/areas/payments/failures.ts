import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const paymentFailures = {
  /** The 500 that the specification has for money that could not be moved. */
  payment_failed: ({ reason, transaction }: { reason: string; transaction: object }): FailureAnswer => ({
    status: 500,
    message: reason,
    data: transaction,
  }),
}

type Owned = DetailsOf<typeof paymentFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
