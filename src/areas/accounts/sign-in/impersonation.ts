import { type AccountRecord, type Actor, assertInService, type UserRecord } from '../../../auth/identity.ts'
import { invalid } from '../../../lib/failure.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempts, SignInClient } from '../login-attempts/operations.ts'
import type { Session, SignIn } from './operations.ts'

interface Deps extends DepsOf<'store' | 'tokens'> {
  signIn: SignIn
  attempts: LoginAttempts
}

/** Who acts: of somebody who acts as another already, the first in the chain. */
const originalOf = ({ accountId, user, claims }: Actor) => {
  const userId = claims?.original_account_id ? claims.original_owner_id : user?.id
  return { accountId: claims?.original_account_id ?? accountId, ...(userId ? { userId } : {}) }
}

export type Impersonation = ReturnType<typeof createImpersonation>

/** Acting as another user, in that user's name and with that user's rights. */
export const createImpersonation = ({ store, signIn, tokens, attempts }: Deps) => ({
  /** No second factor is asked for. It is kept who did it before they can: a session without a trace is never told. */
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
