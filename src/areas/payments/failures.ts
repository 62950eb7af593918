import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

interface PaymentRefusal {
  /** A word of the bookkeeper's. */
  reason: string
  /** The same for people. */
  told: string
  transaction: object
}

export const paymentFailures = {
  /** Whoever takes the money has refused it. Another means of payment may do, so it is no fault of the server. */
  payment_failed: ({ reason, told, transaction }: PaymentRefusal): FailureAnswer => ({
    status: 402,
    message: reason,
    data: { ...transaction, message: `The payment was refused, nothing was booked: ${told}` },
  }),
}

type Owned = DetailsOf<typeof paymentFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
