import { failureKind } from '../../../lib/failure.ts'

export const accountHasDescendants = failureKind(
  'account_has_descendants',
  ({ cause }: { cause?: string }) => ({
    status: 500,
    message: 'account_has_descendants',
    data: { message: 'account has descendants', ...(cause ? { cause } : {}) },
  }),
)
