import type { Static } from 'typebox'
import {
  type AccountRecord,
  assertInService,
  isInService,
  passwordResetKind,
  type UserRecord,
} from '../../../auth/identity.ts'
import { sha256Hex } from '../../../auth/keyring.ts'
import type { JobKind } from '../../../jobs/queue.ts'
import { failure, forbidden, SignInRefusal, signInRefused, validationError } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { newId, randomHex, randomKey } from '../../../lib/ids.ts'
import { addressOf, recipient } from '../../../mail/mail.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import { removalWithOwner } from '../../../storage/attachment.ts'
import { type Author, ChangeSet, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../storage/collection.ts'
import { jobStatement } from '../../../storage/job-draft.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempts, SignInClient } from '../login-attempts/operations.ts'
import type { Security } from '../security/operations.ts'
import type { Users } from '../users/operations.ts'
import { passwordRecoveryNotice } from './notices.ts'
import { type IssuedSession, type SignIn, wayDisabled } from './operations.ts'
import {
  accountKeys,
  isLinkedTo,
  linkHost,
  maxResets,
  recoveryLink,
  recoveryProblems,
  recoveryValues,
} from './rules.ts'
import type { RecoveryRequest } from './schema.ts'

/** Only the digest of a reset ID is stored. */
interface Reset {
  hash: string
  /** Gregorian seconds. */
  expires: number
}

const resetClaim = (hash: string) => ({ scope: systemScope, name: 'reset_id', value: hash })

interface ResetFacts {
  lifetimeSeconds?: number
  /** Hexadecimal digits. */
  size?: number
}

export type Resets = ReturnType<typeof createResets>

export const createResets = ({ store, settings }: DepsOf<'store' | 'settings'>) => {
  const resets = createCollection<object, { resets: readonly Reset[] }>(store, {
    kind: passwordResetKind,
    claims: ({ hidden }) => hidden.resets.map(({ hash }) => ({ ...resetClaim(hash), orElse: conflict })),
  })
  const isGood = (reset: { expires: number }) => reset.expires > gregorianNow(store.clock)

  return {
    /** Adds a reset ID to a change set. Undefined if the user has enough valid ones. */
    async addTo(set: ChangeSet, user: UserRecord, said: ResetFacts = {}) {
      const { reset_id_size: usualSize, reset_id_expiry_s: usual } = await settings.of(crossbarSettings)
      const { lifetimeSeconds: lifetime = usual, size = usualSize } = said
      const before = await resets.find(user.accountId, user.id)
      const good = before?.hidden.resets.filter(isGood) ?? []
      if (good.length >= maxResets) return undefined
      const resetId = randomHex(Math.ceil(size / 2)).slice(0, size)
      const reset = { hash: sha256Hex(resetId), expires: gregorianNow(store.clock) + lifetime }
      requireRecord(set, holderOf(user))
      putDocument(set, resets, user, { before, doc: {}, hidden: { resets: [...good, reset] } })
      return { resetId, lifetime }
    },

    /** Finds the record of a reset ID; it has the user's ID. */
    async find(resetId: string) {
      const hash = sha256Hex(resetId.toLowerCase())
      const record = await resets.holder(resetClaim(hash))
      const reset = record?.hidden.resets.find((candidate) => candidate.hash === hash)
      return record && reset ? { record, expires: reset.expires, isExpired: !isGood(reset) } : undefined
    },

    remove: resets.remove,
    removeWith: removalWithOwner(resets),
  }
}

interface Deps extends DepsOf<'store' | 'settings' | 'mail' | 'afterwards' | 'scheduler' | 'log'> {
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

type RecoveryFields = Static<typeof RecoveryRequest>

const unknownReset = (cause: string) =>
  failure(
    validationError,
    { problems: { user: { not_found: { message: 'The reset id is not known', cause } } } },
    new SignInRefusal('unknown reset id'),
  )

/** The fields of the schema only: anonymous requests are stored. */
const recoveryFieldsIn = ({ username, ui_url, ...given }: RecoveryFields): RecoveryFields => {
  const names = accountKeys.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]]))
  return { username, ui_url, ...Object.fromEntries(names) }
}

/** Whether emails of an account may link to the requested host. */
type MayLink = (account: AccountRecord) => boolean

const sessionSeconds = 900

const recoveryKind = 'password_recovery'
const retryPauseMs = 10_000

export type Recovery = ReturnType<typeof createRecovery>

/** Password recovery: an emailed ID, valid once and for a time. */
export const createRecovery = (deps: Deps) => {
  const { store, settings, mail, afterwards, scheduler, resets, users, signIn, security, attempts, brands } =
    deps

  /** Emails link to hosts of the operator, and those of a brand to its own host. */
  const judgeLink = async (uiUrl: string): Promise<MayLink> => {
    const { recovery_ui_hosts: hosts } = await settings.of(crossbarSettings)
    const host = linkHost(uiUrl)
    if (host === undefined) return () => false
    if (isLinkedTo(host, hosts)) return () => true
    const brand = await brands.brandAt(host)
    if (brand?.doc.domain !== undefined && (await brands.isSetUp(brand.doc.domain, host)))
      return ({ id, hidden }) => [id, ...hidden.tree].includes(brand.accountId)
    const text = 'no recovery email was sent: the host of its link is not set up'
    deps.log.write('warn', text, { host })
    return () => false
  }

  /** Adds a reset ID and its email, if the user may get one. */
  const invite = async (set: ChangeSet, account: AccountRecord, user: UserRecord, uiUrl: string) => {
    const address = addressOf(user.doc)
    if (!address || user.doc.enabled === false || !(await isInService(store, account))) return
    const reset = await resets.addTo(set, user)
    if (!reset) return
    const { resetId, lifetime } = reset
    await mail.notify(set, {
      notice: passwordRecoveryNotice,
      account,
      to: [recipient(address, account, user)],
      values: recoveryValues(user, recoveryLink(uiUrl, resetId), lifetime),
      goodForSeconds: lifetime,
    })
  }

  const job: JobKind<{ request: RecoveryFields; author: Author }, MayLink> = {
    kind: recoveryKind,
    everySeconds: 10,
    maxConcurrent: 1,
    maxAttempts: 5,
    pauseMs: () => retryPauseMs,
    ask: ({ payload }) => judgeLink(payload.request.ui_url),
    /** The request is for all accounts with the name. */
    async conclude({ payload: { request, author } }, mayLink) {
      const { username, ui_url: uiUrl, ...names } = request
      const set = new ChangeSet(author)
      for (const account of await signIn.candidates(names)) {
        const user = await users.byUsername(account.id, username)
        if (user && mayLink(account)) await invite(set, account, user, uiUrl)
      }
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
      const payload = { request: recoveryFieldsIn(request), author }
      // The account is unknown here. No scheduler is notified: the delay is part of the response.
      const job = { kind: recoveryKind, id: newId(now), accountId: systemScope, payload }
      await store.writeUnrecorded([jobStatement(job, now)])
      const millisecondsMore = randomKey(1).readUInt8() * 2
      afterwards.run('a password recovery', async () => scheduler.wake(recoveryKind), millisecondsMore)
    },

    job,

    /** A session that can only set a new password. All other reset IDs of the user end. */
    async redeem(visit: SignInClient, resetId: string): Promise<IssuedSession> {
      const found = await resets.find(resetId)
      const user = found && (await users.find(found.record.accountId, found.record.id))
      if (!user || user.doc.enabled === false) throw unknownReset(resetId)
      if (found.isExpired) {
        const details = { reason: 'reset id expired', cause: String(found.expires) }
        throw failure(forbidden, details, new SignInRefusal('the reset id has expired', user.accountId))
      }
      const account = await signIn.account(user.accountId)
      await assertInService(store, account)
      const { enabled } = await security.policyOf(account, 'cb_user_auth')
      if (!enabled) throw signInRefused(wayDisabled, account.id)
      const after = await committed(store, visit.author, (set) => {
        resets.remove(set, found.record)
        return users.requirePasswordUpdate(set, user)
      })
      const message = 'signed in with a mailed reset id'
      attempts.note(visit, { account, user, type: 'recovery', succeeded: true, message })
      return signIn.openSession(account, after, { purpose: 'own_password', lifetimeSeconds: sessionSeconds })
    },
  }
}
