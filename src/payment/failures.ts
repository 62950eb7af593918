import { type DetailsOf, type FailureAnswer, plain } from '../lib/failure-answer.ts'

export const gatewayFailures = {
  no_payment_token: plain(402, 'no_payment_token', 'no payment method available'),
  invalid_bookkeeper: plain(500, 'invalid_bookkeeper', 'no bookkeeper of this account can move money'),
  processor_error: ({ code, message }: { code: string; message: string }): FailureAnswer => ({
    status: 400,
    message: 'payment processor error',
    data: { code, message },
  }),
  processor_unreachable: plain(503, 'processor_unreachable'),
}

type Owned = DetailsOf<typeof gatewayFailures>

declare module '../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
