import type { Static } from 'typebox'
import type { AccountRecord, UserRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import { monthOf, timeKey } from '../../../lib/time-key.ts'
import type { AuthModule } from '../../../settings/auth-modules.ts'
import type { Author } from '../../../storage/change-set.ts'
import { createCollection, readsOf } from '../../../storage/collection.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempt } from './schema.ts'

type AttemptDoc = Omit<Static<typeof LoginAttempt>, 'id'>

/** Value of the owner column for second factors, so that an index lists them. */
const secondFactors = 'multi_factor'

/** What is stored of a request that tries to sign in. */
export interface SignInClient {
  author: Author
  clientAddress: string
  peerAddress: string
  headers: Record<string, string>
}

interface LoginAttemptFacts {
  account: AccountRecord
  user: UserRecord | undefined
  type: AttemptDoc['auth_type']
  succeeded: boolean
  message: string
}

type Logging = Pick<AuthModule, 'log_failed_attempts' | 'log_successful_attempts'>

export type LoginAttempts = ReturnType<typeof createLoginAttempts>

export const createLoginAttempts = ({ store, afterwards }: DepsOf<'store' | 'afterwards'>) => {
  const attempts = createCollection<AttemptDoc, object>(store, {
    kind: 'login_attempt',
    ownerId: (doc) => (doc.auth_type === 'multi_factor' ? secondFactors : ''),
    sortKey: (doc) => timeKey(doc.timestamp),
    row: (doc) => doc,
  })
  const { clock } = store

  const keep = (visit: SignInClient, { account, user, type, succeeded, message }: LoginAttemptFacts) => {
    const id = `${monthOf(clock.now())}-${newId(clock.now())}`
    const doc: AttemptDoc = {
      auth_type: type,
      auth_module: type === 'api_auth' ? 'cb_api_auth' : 'cb_user_auth',
      status: succeeded ? 'success' : 'failed',
      message,
      client_ip: visit.clientAddress,
      client_headers: visit.headers,
      crossbar_request_id: visit.author.requestId,
      timestamp: gregorianNow(clock),
      metadata: { account_id: account.id, ...(user ? { owner_id: user.id } : {}) },
    }
    return committed(store, visit.author, (set) => {
      attempts.insert(set, attempts.draft(account.id, { doc, hidden: {} }, id))
    })
  }

  const note = (visit: SignInClient, attempt: LoginAttemptFacts) =>
    afterwards.run('storing a sign-in attempt', () => keep(visit, attempt))

  return {
    ...readsOf(attempts),
    secondFactors,

    /** Stores an attempt before it has an effect: for actions that must leave a trace. */
    keep,

    /** Stores an attempt after the response, whose time must not reveal that an account exists. */
    note,

    /** The same, if the settings of the way to sign in ask for it. */
    noteIfLogged(settings: Logging, visit: SignInClient, attempt: LoginAttemptFacts) {
      if (attempt.succeeded ? settings.log_successful_attempts : settings.log_failed_attempts)
        note(visit, attempt)
    },

    async getSecondFactor(accountId: string, id: string) {
      const attempt = await attempts.get(accountId, id)
      if (attempt.doc.auth_type !== 'multi_factor') throw failure(badIdentifier, { cause: id })
      return attempt
    },
  }
}
