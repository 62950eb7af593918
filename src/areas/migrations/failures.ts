import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const migrationFailures = {
  migration_failed: ({ error }: { error: string }): FailureAnswer => ({
    status: 400,
    message: 'migration.failed',
    data: { error },
  }),
  migration_invalid: (): FailureAnswer => ({
    status: 400,
    message: 'migration.invalid',
    data: { migration: 'not found' },
  }),
}

type Owned = DetailsOf<typeof migrationFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
