import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const quickcallFailures = {
  quickcall_failed: ({ reason }: { reason: string }): FailureAnswer => ({
    status: 500,
    message: 'quickcall initiation failed',
    data: { message: reason },
  }),
}

type Owned = DetailsOf<typeof quickcallFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
