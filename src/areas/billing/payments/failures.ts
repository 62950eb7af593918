import { failureKind } from '../../../lib/failure.ts'

interface PaymentRefusal {
  /** A word of the bookkeeper's. */
  reason: string
  /** The same for people. */
  told: string
  transaction: object
}

/** Whoever takes the money has refused it. Another means of payment may do, so it is no fault of the server. */
export const paymentFailed = failureKind(
  'payment_failed',
  ({ reason, told, transaction }: PaymentRefusal) => ({
    status: 402,
    message: reason,
    data: { ...transaction, message: `The payment was refused, nothing was booked: ${told}` },
  }),
)
