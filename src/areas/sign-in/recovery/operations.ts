import { type AccountRecord, assertEnabled, type UserRecord } from '../../../auth/identity.ts'
import type { Afterwards } from '../../../jobs/afterwards.ts'
import { isEmailAddress } from '../../../lib/email-address.ts'
import { failure, invalid } from '../../../lib/failure.ts'
import { randomKey } from '../../../lib/ids.ts'
import type { Mail } from '../../../mail/mail.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { LoginAttempts, Visit } from '../../login-attempts/operations.ts'
import type { Security } from '../../security/operations.ts'
import type { Users } from '../../users/operations.ts'
import type { AccountNames, Session, SignIn } from '../operations.ts'
import type { Resets } from './resets.ts'
import { recoveryLetter, recoveryLink, recoveryProblems } from './rules.ts'

interface Tools {
  store: Store
  settings: Settings
  mail: Mail
  afterwards: Afterwards
  resets: Resets
  users: Users
  signIn: SignIn
  security: Security
  attempts: LoginAttempts
}

interface Request extends AccountNames {
  username: string
  ui_url: string
}

/** Where a user's mail goes; undefined when there is no address. */
const addressOf = ({ doc: { email, username } }: UserRecord) =>
  email ?? (username && isEmailAddress(username) ? username : undefined)

const unknownReset = (cause: string) =>
  invalid({ user: { not_found: { message: 'The reset id is not known', cause } } })

export type Recovery = ReturnType<typeof createRecovery>

/** A way back in for who forgot the password: an id by mail, good once and for a while. */
export const createRecovery = (tools: Tools) => {
  const { store, settings, mail, afterwards, resets, users, signIn, security, attempts } = tools

  const invite = async (author: Author, account: AccountRecord, user: UserRecord, uiUrl: string) => {
    const address = addressOf(user)
    if (!address || user.doc.enabled === false || !account.hidden.enabled) return
    const reset = await resets.add(author, user)
    if (!reset) return
    const link = recoveryLink(uiUrl, reset.resetId)
    mail.send({
      to: address,
      ...recoveryLetter(account.doc.name, user.doc.username ?? '', link, reset.lifetime),
    })
  }

  /** Accounts that share a name are all meant: nobody is shut out by a namesake. */
  const handle = async (author: Author, { username, ui_url: uiUrl, ...names }: Request) => {
    for (const account of await signIn.candidates(names)) {
      const user = await users.byUsername(account.id, username)
      if (user) await invite(author, account, user, uiUrl)
    }
  }

  return {
    /** Problems of the request that say nothing about who exists. */
    async judge(data: Record<string, unknown>) {
      const { recovery_ui_hosts: hosts } = await settings.of('crossbar')
      return recoveryProblems(data, hosts)
    },

    /** Everything happens after the answer, at a time that tells nothing. */
    request(author: Author, request: Request) {
      const pauseMs = (randomKey(1)[0] as number) * 2
      afterwards.run('a password recovery', () => handle(author, request), pauseMs)
    },

    /** A session for the reset id of a mail. The user has to choose a password; every other reset id ends with this. */
    async redeem(visit: Visit, resetId: string): Promise<Session> {
      const found = await resets.find(resetId)
      const user = found && (await users.collection.find(found.record.accountId, found.record.id))
      if (!user || user.doc.enabled === false) throw unknownReset(resetId)
      if (found.isExpired) {
        throw failure('forbidden', { reason: 'reset id expired', cause: String(found.expires) })
      }
      const account = await signIn.accountOf(user)
      assertEnabled(account)
      const { enabled } = await security.policyOf(account, 'cb_user_auth')
      if (!enabled) throw failure('invalid_credentials', {})
      const set = new ChangeSet(visit.author)
      resets.remove(set, found.record)
      const after = users.requirePasswordUpdate(set, user)
      await store.commit(set)
      const facts = { account, user, type: 'recovery', module: 'cb_user_auth' } as const
      attempts.note(visit, { ...facts, succeeded: true, message: 'signed in with a mailed reset id' })
      return signIn.openSession(account, after)
    },
  }
}
