import { type KeyPlace, keyHolder, noDigest } from '../../../auth/authenticate.ts'
import { type DigestMethod, digestWanted, isDigest } from '../../../auth/credentials.ts'
import { type AccountRecord, assertInService, type UserRecord } from '../../../auth/identity.ts'
import { isThroughAllowedProxy, proxyRefusal } from '../../../auth/policies.ts'
import {
  Failure,
  failure,
  forbidden,
  hasProblems,
  invalidCredentials,
  notConfigured,
  SignInRefusal,
  signInRefused,
} from '../../../lib/failure.ts'
import { randomHex } from '../../../lib/ids.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempts, SignInClient } from '../login-attempts/operations.ts'
import type { Factors, Passkeys, Providers } from '../multi-factor/operations.ts'
import { Assertion } from '../multi-factor/passkeys/schema.ts'
import type { LoginLock, ModulePolicy, Security } from '../security/operations.ts'
import type { Users } from '../users/operations.ts'
import type { KnownNetworks } from './networks.ts'
import { type IssuedSession, type SignIn, wayDisabled } from './operations.ts'
import type { UserAuth } from './schema.ts'

interface Deps extends DepsOf<'store' | 'deriver' | 'validate'> {
  users: Users
  signIn: SignIn
  security: Security
  lock: LoginLock
  providers: Providers
  factors: Factors
  passkeys: Passkeys
  attempts: LoginAttempts
  networks: Pick<KnownNetworks, 'note'>
}

/** `host`: the requested one, because passkeys belong to a host. */
export type Credentials = UserAuth & { method: DigestMethod; host: string | undefined }

/** A user whose first factor was correct. */
interface KnownUser {
  host: string | undefined
  account: AccountRecord
  user: UserRecord
  policy: ModulePolicy
}

/** Undefined: no second factor was needed. */
type SecondFactor = { recoveryCodes: string[] | undefined } | undefined

const module = 'cb_user_auth'
const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const wrongFactor = 'wrong second factor'
const wrongPasskey = 'wrong passkey'
const notThroughProxy = 'the connection did not come from an allowed proxy'

const outsideProxies = ({ id }: AccountRecord) =>
  failure(forbidden, { cause: proxyRefusal }, new SignInRefusal(notThroughProxy, id))

const firstFactor = ({ store, deriver, users, signIn, security, lock, attempts }: Deps) => {
  // Without an account the same work is done, so that the response time reveals nothing.
  const noAccount: KeyPlace = { id: '0'.repeat(32), hidden: { signInSalt: randomHex(16) } }

  const refuse = async (
    visit: SignInClient,
    account: AccountRecord,
    user: UserRecord | undefined,
    message: string,
  ) => {
    const facts = { account, user, type: 'user_auth', succeeded: false, message } as const
    attempts.noteIfLogged(await security.policyOf(account, module), visit, facts)
    await lock.countFailure(visit.author, account)
  }

  const assertThroughProxy = async (visit: SignInClient, account: AccountRecord, user: UserRecord) => {
    if (isThroughAllowedProxy({ account, user }, visit.peerAddress)) return
    await refuse(visit, account, user, notThroughProxy)
    throw outsideProxies(account)
  }

  /** Checks a user with the correct password. */
  const admit = async (visit: SignInClient, known: Omit<KnownUser, 'policy'>): Promise<KnownUser> => {
    const { account, user } = known
    const policy = await security.policyOf(account, module)
    const deny = async (reason: string, shown: { data?: { message: string } } = {}) => {
      await refuse(visit, account, user, reason)
      return failure(invalidCredentials, shown, new SignInRefusal(reason, account.id))
    }
    if (!policy.enabled) throw await deny(wayDisabled)
    await assertInService(store, account)
    await assertThroughProxy(visit, account, user)
    if (await users.isPasswordExpired(user))
      throw await deny('password expired', { data: { message: 'password expired' } })
    return { ...known, policy }
  }

  return {
    assertThroughProxy,

    /** The user with this digest, in the first account that has one. */
    async identify(visit: SignInClient, login: Credentials): Promise<KnownUser> {
      const { method, host } = login
      const digest = login.credentials.toLowerCase()
      if (!isDigest(method, digest))
        throw noDigest(
          `credentials must not be the password itself: send ${digestWanted(method)}`,
          'the credentials are not a digest',
        )
      const guess = { method, digest, clientAddress: visit.clientAddress }
      const candidates = await signIn.candidates(login)
      let reason = 'wrong user name or password'
      for (const account of candidates) {
        await lock.assertUnlocked(account)
        const user = await keyHolder({ records: store.records, deriver }, account, guess)
        if (user && user.doc.enabled !== false) return admit(visit, { host, account, user })
        if (user) reason = 'the user is disabled'
      }
      if (candidates.length === 0) {
        const { phone_number, account_realm, realm, account_name, account_id } = login
        const called = [phone_number, account_realm, realm, account_name, account_id].join('/').toLowerCase()
        await keyHolder({ records: store.records, deriver }, noAccount, { ...guess, called })
        reason = 'there is no such account'
      }
      for (const account of candidates) await refuse(visit, account, undefined, 'invalid credentials')
      throw signInRefused(reason, candidates[0]?.id)
    },
  }
}

const secondFactor = ({ validate, lock, providers, factors, passkeys, attempts }: Deps) => {
  const note = (
    visit: SignInClient,
    { account, user, policy }: Omit<KnownUser, 'host'>,
    succeeded: boolean,
    message: string,
  ) => attempts.noteIfLogged(policy, visit, { account, user, type: 'multi_factor', succeeded, message })

  /** The 401 that asks for the second factor. */
  const challenge = async ({ host, account, user }: KnownUser, refusal?: SignInRefusal) => {
    const passkey = await passkeys.secondFactorOptions(host, { account, user })
    const data = {
      message: 'invalid credentials',
      multi_factor_request: {
        provider_name: 'otp',
        enrolled: await factors.isVerified({ account, user }),
        ...(passkey ? { passkey } : {}),
      },
      user_id: user.id,
    }
    return failure(invalidCredentials, { data }, refusal)
  }

  const check = async (visit: SignInClient, known: KnownUser, response: string) => {
    if (!response.startsWith('{')) return factors.pass(visit.author, known, response)
    const { value, problems } = await validate(Assertion, jsonIn(response))
    if (hasProblems(problems)) return undefined
    const isGood = await passkeys.pass(visit.author, known.host, known, value)
    return isGood ? { recoveryCodes: undefined } : undefined
  }

  const pass = async (visit: SignInClient, known: KnownUser, response: string) => {
    const passed = await check(visit, known, response)
    note(visit, known, passed !== undefined, passed ? 'second factor passed' : wrongFactor)
    if (passed) return passed
    await lock.countFailure(visit.author, known.account)
    throw await challenge(known, new SignInRefusal(wrongFactor, known.account.id))
  }

  return {
    note,
    challenge,
    pass,

    /** Asks for the second factor if the account demands one. */
    async passIfDemanded(
      visit: SignInClient,
      known: KnownUser,
      response: string | undefined,
    ): Promise<SecondFactor> {
      const setting = known.policy.multi_factor
      if (!setting?.enabled) return undefined
      const provider = await providers.meantBy(known.account, setting)
      if (!provider && !(await passkeys.hasAny(known.user))) {
        note(visit, known, false, 'no multi factor authentication provider is configured')
        return undefined
      }
      if (response === undefined) throw await challenge(known)
      return pass(visit, known, response)
    },
  }
}

/** Opens a session of the user, who was identified. */
const sessionOpening =
  ({ deriver, signIn, lock, attempts, networks }: Deps) =>
  async (
    visit: SignInClient,
    { account, user, policy }: Omit<KnownUser, 'host'>,
    factor: SecondFactor,
    message = 'signed in',
  ): Promise<IssuedSession> => {
    const session = await signIn.openSession(account, user, factor ? { multiFactor: true } : {})
    deriver.acquaintances.note(account.id, visit.clientAddress)
    networks.note(visit, account, user)
    await lock.unlock(visit.author, account)
    attempts.noteIfLogged(policy, visit, { account, user, type: 'user_auth', succeeded: true, message })
    const codes = factor?.recoveryCodes
    return codes ? { ...session, result: { ...session.result, recovery_codes: codes } } : session
  }

const signInByKey = ({ signIn, security, attempts }: Deps) => {
  const note = async (visit: SignInClient, account: AccountRecord, succeeded: boolean, message: string) => {
    const facts = { account, user: undefined, type: 'api_auth', succeeded, message } as const
    attempts.noteIfLogged(await security.policyOf(account, 'cb_api_auth'), visit, facts)
  }

  return async (visit: SignInClient, key: string): Promise<IssuedSession> => {
    try {
      const { account, ...session } = await signIn.byApiKey(key, visit.clientAddress)
      if (!isThroughAllowedProxy({ account, user: undefined }, visit.peerAddress))
        throw outsideProxies(account)
      await note(visit, account, true, 'signed in')
      return session
    } catch (error) {
      const refusal = error instanceof Failure ? error.cause : undefined
      if (refusal instanceof SignInRefusal && refusal.accountId !== undefined)
        await note(visit, await signIn.account(refusal.accountId), false, refusal.message)
      throw error
    }
  }
}

export type Login = ReturnType<typeof createLogin>

export const createLogin = (deps: Deps) => {
  const { store, users, signIn, security, lock, providers, factors, passkeys } = deps
  const first = firstFactor(deps)
  const second = secondFactor(deps)
  const open = sessionOpening(deps)

  return {
    /** Whether Basic credentials are enough, which have no second factor. */
    async admitsPassword(account: AccountRecord, user: UserRecord): Promise<boolean> {
      const { enabled, multi_factor: factor } = await security.policyOf(account, module)
      if (!enabled || (await users.isPasswordExpired(user))) return false
      if (!factor?.enabled) return true
      return (await providers.meantBy(account, factor)) === undefined && !(await passkeys.hasAny(user))
    },

    async logIn(visit: SignInClient, login: Credentials): Promise<IssuedSession> {
      const known = await first.identify(visit, login)
      return open(visit, known, await second.passIfDemanded(visit, known, login.multi_factor_response))
    },

    /** The address for an authenticator app of a user without a factor; with the first code, a session. */
    async enrol(visit: SignInClient, login: Credentials): Promise<{ url: string } | IssuedSession> {
      const known = await first.identify(visit, login)
      const provider = await providers.meantBy(known.account, known.policy.multi_factor ?? {})
      if (!provider) throw failure(notConfigured, { message: 'no second-factor provider is configured' })
      // A password alone must not choose another provider than the demanded one.
      if (provider.doc.provider_name !== 'otp')
        throw failure(notConfigured, {
          message: 'the second-factor provider is not available on this server',
        })
      const response = login.multi_factor_response
      // A password alone must not replace the user's passkey.
      const hasPasskey = await passkeys.hasAny(known.user)
      if (hasPasskey && response === undefined) throw await second.challenge(known)
      const url = hasPasskey ? '' : await factors.enrolmentUrl(visit.author, known)
      if (response === undefined) return { url }
      return open(visit, known, await second.pass(visit, known, response))
    },

    passkeyOptions: passkeys.signInOptions,

    /** Signs in with a passkey, which counts as both factors. */
    async byPasskey(
      visit: SignInClient,
      host: string | undefined,
      assertion: Assertion,
    ): Promise<IssuedSession> {
      const passkey = await passkeys.claimedBy(assertion)
      const user = passkey && (await users.find(passkey.accountId, passkey.doc.owner_id))
      if (!user) throw signInRefused('unknown passkey')
      const account = await signIn.account(user.accountId)
      if (user.doc.enabled === false) throw signInRefused('the user is disabled', account.id)
      await lock.assertUnlocked(account)
      const policy = await security.policyOf(account, module)
      if (!policy.enabled) throw signInRefused(wayDisabled, account.id)
      await assertInService(store, account)
      await first.assertThroughProxy(visit, account, user)
      try {
        await passkeys.signIn(visit.author, host, passkey, assertion)
      } catch (error) {
        second.note(visit, { account, user, policy }, false, wrongPasskey)
        throw error instanceof Failure
          ? new Failure(error.kind, error.details, new SignInRefusal(wrongPasskey, account.id))
          : error
      }
      return open(visit, { account, user, policy }, { recoveryCodes: undefined }, 'signed in with a passkey')
    },

    byApiKey: signInByKey(deps),
  }
}
