import { failureKind, plain } from '../../../lib/failure.ts'

export const alertsDisabled = failureKind('disabled', plain(400, 'disabled', 'entity disabled'))
