import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const cdrFailures = {
  call_archive_unreachable: ({ retryAfterSeconds }: { retryAfterSeconds: number }): FailureAnswer => ({
    status: 503,
    message: 'call_archive_unreachable',
    data: { message: 'the archive of older call records cannot be read now' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
}

type Owned = DetailsOf<typeof cdrFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
