import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const taskFailures = {
  /** The 500 that the specification has for what a task cannot be made of. */
  invalid_request: ({ data }: { data: Record<string, unknown> }): FailureAnswer => ({
    status: 500,
    message: 'invalid request',
    data,
  }),
}

type Owned = DetailsOf<typeof taskFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
