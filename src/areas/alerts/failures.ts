import { type DetailsOf, plain } from '../../lib/failure-answer.ts'

export const alertFailures = {
  disabled: plain(400, 'disabled', 'entity disabled'),
}

type Owned = DetailsOf<typeof alertFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
