import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const signInFailures = {
  not_renewable: ({ method }: { method: string }): FailureAnswer => ({
    status: 405,
    message: `${method} not allowed to renew`,
    data: { message: `${method} not allowed to renew` },
  }),
}

type Owned = DetailsOf<typeof signInFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
