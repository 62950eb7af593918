import { type DetailsOf, plain } from '../../lib/failure-answer.ts'

export const rateFailures = {
  no_rate: plain(404, 'No rate found for this number'),
}

type Owned = DetailsOf<typeof rateFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
