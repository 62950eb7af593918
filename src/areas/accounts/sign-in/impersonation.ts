import { type AccountRecord, type Actor, assertInService, type UserRecord } from '../../../auth/identity.ts'
import { invalid } from '../../../lib/failure.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempts, SignInClient } from '../login-attempts/operations.ts'
import type { Session, SignIn } from './operations.ts'

interface Deps extends DepsOf<'store' | 'tokens'> {
  signIn: SignIn
  attempts: LoginAttempts
}

/** The caller; of nested impersonations the first one. */
const originalOf = ({ accountId, user, claims }: Actor) => {
  const userId = claims?.original_account_id ? claims.original_owner_id : user?.id
  return { accountId: claims?.original_account_id ?? accountId, ...(userId ? { userId } : {}) }
}

export type Impersonation = ReturnType<typeof createImpersonation>

export const createImpersonation = ({ store, signIn, tokens, attempts }: Deps) => ({
  /** Needs no second factor. The attempt is stored before the session is returned. */
  async begin(visit: SignInClient, actor: Actor, account: AccountRecord, user: UserRecord): Promise<Session> {
    await assertInService(store, account)
    if (user.doc.enabled === false) {
      throw invalid({ user: { disabled: { message: 'user disabled', cause: user.id } } })
    }
    const original = originalOf(actor)
    const session = await signIn.openSession(account, user, { origins: await tokens.originsOf(actor) })
    const by = original.userId ? `user ${original.userId}` : 'an API key'
    await attempts.keep(visit, {
      account,
      user,
      type: 'impersonation',
      module: 'cb_user_auth',
      succeeded: true,
      message: `impersonated by ${by} of account ${original.accountId}`,
    })
    return session
  },
})
