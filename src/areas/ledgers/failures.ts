import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const ledgerFailures = {
  // The code of a conflict, but no race: the same booking is refused however often it is tried.
  booked_already: (): FailureAnswer => ({
    status: 409,
    message: 'datastore_conflict',
    data: { message: 'this has been booked already' },
  }),
}

type Owned = DetailsOf<typeof ledgerFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
