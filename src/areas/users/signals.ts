import type { UserRecord } from '../../auth/identity.ts'
import { signal } from '../../storage/signal.ts'

/** A user is removed. */
export const userLeaving = signal<UserRecord>('user leaving')
