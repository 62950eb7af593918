import { failureKind, plain } from '../../../lib/failure.ts'

export const allotmentsNotConfigured = failureKind(
  'allotments_not_configured',
  plain(400, 'allotments are not configured for this account yet'),
)
