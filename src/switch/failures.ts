import { failureKind } from '../lib/failure.ts'

export const quickcallFailed = failureKind('quickcall_failed', ({ reason }: { reason: string }) => ({
  status: 500,
  message: 'quickcall initiation failed',
  data: { message: reason },
}))
