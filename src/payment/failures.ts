import { failureKind, plain } from '../lib/failure.ts'

export const noPaymentToken = failureKind(
  'no_payment_token',
  plain(402, 'no_payment_token', 'no payment method available'),
)

export const invalidBookkeeper = failureKind(
  'invalid_bookkeeper',
  plain(500, 'invalid_bookkeeper', 'no billing provider of this account can charge or refund'),
)

export const processorError = failureKind(
  'processor_error',
  ({ code, message }: { code: string; message: string }) => ({
    status: 400,
    message: 'payment processor error',
    data: { code, message },
  }),
)

export const processorUnreachable = failureKind('processor_unreachable', plain(503, 'processor_unreachable'))
