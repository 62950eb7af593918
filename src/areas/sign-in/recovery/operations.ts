import { type AccountRecord, assertEnabled, type UserRecord } from '../../../auth/identity.ts'
import type { Afterwards } from '../../../jobs/afterwards.ts'
import type { Round, Rounds } from '../../../jobs/rounds.ts'
import { failure, invalid } from '../../../lib/failure.ts'
import { randomKey } from '../../../lib/ids.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import { addressOf, type Mail } from '../../../mail/mail.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying, type Store } from '../../../storage/store.ts'
import type { LoginAttempts, Visit } from '../../login-attempts/operations.ts'
import type { Security } from '../../security/operations.ts'
import type { Users } from '../../users/operations.ts'
import type { AccountNames, Session, SignIn } from '../operations.ts'
import type { Resets } from './resets.ts'
import { recoveryLink, recoveryProblems, recoveryValues } from './rules.ts'
import { createRequestRows, type WaitingRequest } from './store.ts'

interface Tools {
  store: Store
  settings: Settings
  mail: Mail
  afterwards: Afterwards
  rounds: Pick<Rounds, 'nudge'>
  log: Log
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

const unknownReset = (cause: string) =>
  invalid({ user: { not_found: { message: 'The reset id is not known', cause } } })

const roundName = 'password recovery'
const batchSize = 100

// A request whose handling fails is tried this often.
const mostTries = 5

export type Recovery = ReturnType<typeof createRecovery>

/** A way back in for who forgot the password: an id by mail, good once and for a while. */
export const createRecovery = (tools: Tools) => {
  const { store, settings, mail, afterwards, rounds, log, resets, users, signIn, security, attempts } = tools
  const waiting = createRequestRows<Request>(store)

  /** Adds a reset id and the letter that tells it, when the user may be sent one. */
  const invite = async (set: ChangeSet, account: AccountRecord, user: UserRecord, uiUrl: string) => {
    const address = addressOf(user.doc)
    if (!address || user.doc.enabled === false || !account.hidden.enabled) return
    const reset = await resets.addTo(set, user)
    if (!reset) return
    const { resetId, lifetime } = reset
    await mail.notify(set, {
      notice: 'password_recovery',
      account,
      to: [address],
      values: recoveryValues(user, recoveryLink(uiUrl, resetId), lifetime),
      goodForSeconds: lifetime,
    })
  }

  /** Accounts that share a name are all meant: nobody is shut out by a namesake. */
  const answer = ({ id, author, request }: WaitingRequest<Request>) =>
    retrying(async () => {
      const { username, ui_url: uiUrl, ...names } = request
      const set = new ChangeSet(author)
      for (const account of await signIn.candidates(names)) {
        const user = await users.byUsername(account.id, username)
        if (user) await invite(set, account, user, uiUrl)
      }
      if (set.changes.length === 0) return waiting.remove(id)
      set.statements.push(waiting.removal(id))
      await store.commit(set)
    })

  /** One that fails is tried again with the next round; one that always fails does not stay. */
  const attempt = async (entry: WaitingRequest<Request>) => {
    try {
      await answer(entry)
    } catch (error) {
      log.write('error', 'a password recovery failed', {
        tries: entry.tries + 1,
        error: describeError(error),
      })
      if (entry.tries + 1 < mostTries) await waiting.noteFailure(entry.id)
      else await waiting.remove(entry.id)
    }
  }

  return {
    /** Problems of the request that say nothing about who exists. */
    async judge(data: Record<string, unknown>) {
      const { recovery_ui_hosts: hosts } = await settings.of('crossbar')
      return recoveryProblems(data, hosts)
    },

    /**
     * Notes the request, alike for everybody, before it is answered. Who it is about is looked up afterwards, at a time
     * that tells nothing: how long the answer takes does not depend on who exists, and a crash loses no mail.
     */
    async request(author: Author, request: Request) {
      await waiting.add(author, request)
      const pauseMs = randomKey(1).readUInt8() * 2
      afterwards.run('a password recovery', async () => rounds.nudge(roundName), pauseMs)
    },

    round: {
      name: roundName,
      everySeconds: 10,
      due: () => waiting.isAny(),
      async run(signal: AbortSignal) {
        let entries = await waiting.after('', batchSize)
        while (entries.length > 0) {
          for (const entry of entries) {
            if (signal.aborted) return
            await attempt(entry)
          }
          entries = await waiting.after(entries.at(-1)?.id ?? '', batchSize)
        }
      },
    } satisfies Round,

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
