import { type DetailsOf, plain } from '../../lib/failure-answer.ts'

export const limitFailures = {
  allotments_not_configured: plain(400, 'allotments are not configured for this account yet'),
}

type Owned = DetailsOf<typeof limitFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
