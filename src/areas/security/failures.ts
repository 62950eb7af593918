import { type DetailsOf, plain } from '../../lib/failure-answer.ts'

export const securityFailures = {
  account_is_locked: plain(401, 'account_is_locked'),
}

type Owned = DetailsOf<typeof securityFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
