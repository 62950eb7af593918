import {
  type AccountRecord,
  assertInService,
  isInService,
  type UserRecord,
} from '../../../../auth/identity.ts'
import type { Job, JobKind } from '../../../../jobs/queue.ts'
import { failure, forbidden, SignInRefusal, signInRefused, validationError } from '../../../../lib/failure.ts'
import { newId, randomKey } from '../../../../lib/ids.ts'
import { addressOf } from '../../../../mail/mail.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import { type Author, ChangeSet, systemScope } from '../../../../storage/change-set.ts'
import { errandStatement } from '../../../../storage/job-draft.ts'
import type { DepsOf } from '../../../area.ts'
import type { LoginAttempts, SignInClient } from '../../login-attempts/operations.ts'
import type { Security } from '../../security/operations.ts'
import type { Users } from '../../users/operations.ts'
import { passwordRecoveryNotice } from '../notices.ts'
import { type AccountNames, type IssuedSession, type SignIn, wayDisabled } from '../operations.ts'
import {
  accountKeys,
  isLinkedTo,
  linkHost,
  recoveryLink,
  recoveryProblems,
  recoveryValues,
} from '../rules.ts'
import type { Resets } from './resets.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'mail' | 'afterwards' | 'rounds' | 'log'> {
  resets: Resets
  users: Users
  signIn: SignIn
  security: Security
  attempts: LoginAttempts
  brands: {
    brandAt(host: string): Promise<{ accountId: string; doc: { domain?: string } } | undefined>
    /** Whether the DNS of a brand's host is set up. */
    isSetUp(domain: string, host: string): Promise<boolean>
  }
}

interface RecoveryFields extends AccountNames {
  username: string
  ui_url: string
}

const unknownReset = (cause: string) =>
  failure(
    validationError,
    { problems: { user: { not_found: { message: 'The reset id is not known', cause } } } },
    new SignInRefusal('unknown reset id'),
  )

/** The fields of the schema only: anonymous requests are stored. */
const recoveryFieldsIn = ({ username, ui_url, ...given }: RecoveryFields): RecoveryFields => {
  const names: AccountNames = {}
  for (const key of accountKeys) {
    const value = given[key]
    if (value !== undefined) names[key] = value
  }
  return { username, ui_url, ...names }
}

interface RecoveryPayload {
  request: RecoveryFields
  author: Author
}

/** The accounts whose emails may link to the requested host. */
type LinkVerdict = { for: 'everybody' } | { for: 'nobody' } | { for: 'below'; accountId: string }

const isFor = (verdict: LinkVerdict, { id, hidden }: AccountRecord) =>
  verdict.for === 'everybody' ||
  (verdict.for === 'below' && (verdict.accountId === id || hidden.tree.includes(verdict.accountId)))

const sessionSeconds = 900

const recoveryKind = 'password_recovery'
const retryPauseMs = 10_000

export type Recovery = ReturnType<typeof createRecovery>

/** Password recovery: an emailed ID, valid once and for a time. */
export const createRecovery = (tools: Deps) => {
  const { store, settings, mail, afterwards, rounds, resets, users, signIn, security, attempts, brands } =
    tools

  /** Emails link to hosts of the operator, and those of a brand to its own host. */
  const judgeLink = async (uiUrl: string): Promise<LinkVerdict> => {
    const { recovery_ui_hosts: hosts } = await settings.of(crossbarSettings)
    const host = linkHost(uiUrl)
    if (host === undefined) return { for: 'nobody' }
    if (isLinkedTo(host, hosts)) return { for: 'everybody' }
    const brand = await brands.brandAt(host)
    const isGood = brand?.doc.domain !== undefined && (await brands.isSetUp(brand.doc.domain, host))
    if (brand && isGood) return { for: 'below', accountId: brand.accountId }
    tools.log.write('warn', 'no recovery mail was sent: its link leads to a host that is not set up', {
      host,
    })
    return { for: 'nobody' }
  }

  /** Adds a reset ID and its email, if the user may get one. */
  const invite = async (set: ChangeSet, account: AccountRecord, user: UserRecord, uiUrl: string) => {
    const address = addressOf(user.doc)
    if (!address || user.doc.enabled === false) return
    if (!(await isInService(store, account))) return
    const reset = await resets.addTo(set, user)
    if (!reset) return
    const { resetId, lifetime } = reset
    await mail.notify(set, {
      notice: passwordRecoveryNotice,
      account,
      to: [address],
      values: recoveryValues(user, recoveryLink(uiUrl, resetId), lifetime),
      goodForSeconds: lifetime,
    })
  }

  /** All accounts of a name are meant. */
  const answer = async ({ payload }: Job<RecoveryPayload>, verdict: LinkVerdict) => {
    const { username, ui_url: uiUrl, ...names } = payload.request
    const set = new ChangeSet(payload.author)
    for (const account of await signIn.candidates(names)) {
      const user = await users.byUsername(account.id, username)
      if (user && isFor(verdict, account)) await invite(set, account, user, uiUrl)
    }
    return set
  }

  const kind: JobKind<RecoveryPayload, LinkVerdict> = {
    kind: recoveryKind,
    everySeconds: 10,
    maxConcurrent: 1,
    maxAttempts: 5,
    pauseMs: () => retryPauseMs,
    ask: ({ payload }) => judgeLink(payload.request.ui_url),
    async conclude(errand, verdict) {
      const set = await answer(errand, verdict)
      return { state: 'forgotten', sets: set.changes.length === 0 ? [] : [set] }
    },
  }

  return {
    /** Problems that do not depend on existing accounts. */
    async judge(data: Record<string, unknown>) {
      const { recovery_ui_hosts: hosts } = await settings.of(crossbarSettings)
      const host = linkHost(data.ui_url)
      const isAllowed =
        host !== undefined && (isLinkedTo(host, hosts) || (await brands.brandAt(host)) !== undefined)
      return recoveryProblems(data, isAllowed)
    },

    /** Stores the request and responds. The look-up runs later, so the response time reveals nothing. */
    async request(author: Author, request: RecoveryFields) {
      const now = store.clock.now()
      const payload: RecoveryPayload = { request: recoveryFieldsIn(request), author }
      // The account is unknown here. No scheduler is notified: the delay is part of the response.
      const errand = { kind: recoveryKind, id: newId(now), accountId: systemScope, payload }
      await store.writeUnrecorded([errandStatement(errand, now)])
      const millisecondsMore = randomKey(1).readUInt8() * 2
      afterwards.run('a password recovery', async () => rounds.nudge(recoveryKind), millisecondsMore)
    },

    job: kind,

    /** A session that can only set a new password. All other reset IDs of the user end. */
    async redeem(visit: SignInClient, resetId: string): Promise<IssuedSession> {
      const found = await resets.find(resetId)
      const user = found && (await users.find(found.record.accountId, found.record.id))
      if (!user || user.doc.enabled === false) throw unknownReset(resetId)
      if (found.isExpired) {
        const details = { reason: 'reset id expired', cause: String(found.expires) }
        throw failure(forbidden, details, new SignInRefusal('the reset id has expired', user.accountId))
      }
      const account = await signIn.accountOf(user)
      await assertInService(store, account)
      const { enabled } = await security.policyOf(account, 'cb_user_auth')
      if (!enabled) throw signInRefused(wayDisabled, account.id)
      const set = new ChangeSet(visit.author)
      resets.remove(set, found.record)
      const after = users.requirePasswordUpdate(set, user)
      await store.commit(set)
      const facts = { account, user, type: 'recovery', module: 'cb_user_auth' } as const
      attempts.note(visit, { ...facts, succeeded: true, message: 'signed in with a mailed reset id' })
      return signIn.openSession(account, after, { purpose: 'own_password', lifetimeSeconds: sessionSeconds })
    },
  }
}
