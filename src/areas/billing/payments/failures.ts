import { failureKind } from '../../../lib/failure.ts'

interface PaymentRefusal {
  /** The bookkeeper's code. */
  reason: string
  /** The same for people. */
  told: string
  transaction: object
}

/** A refused payment is a 402: another means of payment may work. */
export const paymentFailed = failureKind(
  'payment_failed',
  ({ reason, told, transaction }: PaymentRefusal) => ({
    status: 402,
    message: reason,
    data: { ...transaction, message: `The payment was refused, and nothing was booked: ${told}` },
  }),
)
