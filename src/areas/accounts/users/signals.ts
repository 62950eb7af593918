import type { UserRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'

/** A user is removed. */
export const userDeleted = signal<UserRecord>('user leaving')

/** A user was made who is to be welcomed. */
export const userToWelcome = signal<UserRecord>('user to welcome')

/** A user begins anew: what proved until now who it is proves nothing any more. */
export const userBeginsAnew = signal<UserRecord>('user begins anew')
