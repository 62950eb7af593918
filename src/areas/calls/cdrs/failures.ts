import { failureKind } from '../../../lib/failure.ts'

export const callArchiveUnreachable = failureKind(
  'call_archive_unreachable',
  ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
    status: 503,
    message: 'call_archive_unreachable',
    data: { message: 'the archive of older call records cannot be read now' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
)
