import { failureKind, plain } from '../../../lib/failure.ts'

export const accountIsLocked = failureKind('account_is_locked', plain(401, 'account_is_locked'))
