import { failureKind } from '../../../lib/failure.ts'

/** The 500 that the specification has for what a task cannot be made of. */
export const invalidTaskRequest = failureKind(
  'invalid_request',
  ({ data }: { data: Record<string, unknown> }) => ({
    status: 500,
    message: 'invalid request',
    data,
  }),
)
