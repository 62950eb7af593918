import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const accountFailures = {
  account_has_descendants: ({ cause }: { cause?: string }): FailureAnswer => ({
    status: 500,
    message: 'account_has_descendants',
    data: { message: 'account has descendants', ...(cause ? { cause } : {}) },
  }),
  object_deletion_failed: ({ objectTypes }: { objectTypes: unknown }): FailureAnswer => ({
    status: 500,
    message: 'At least one object failed to be deleted',
    data: { message: 'At least one object failed to be deleted', object_types: objectTypes },
  }),
}

type Owned = DetailsOf<typeof accountFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
