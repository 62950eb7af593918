import type { UserRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'

export const userDeleted = signal<UserRecord>('user leaving')

/** A user was created with a welcome email. */
export const userToWelcome = signal<UserRecord>('user to welcome')

/** A user got a new password on the command line: second factors, passkeys and mailed links end. */
export const userBeginsAnew = signal<UserRecord>('user starts again')
