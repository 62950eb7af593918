import { type KeyPlace, keyHolder } from '../../../auth/authenticate.ts'
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
import { type AccountNames, type IssuedSession, type SignIn, wayDisabled } from './operations.ts'

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

export interface Credentials extends AccountNames {
  /** The requested host: passkeys belong to one. */
  host: string | undefined
  credentials: string
  method: DigestMethod
  /** A code, a recovery code, or the JSON response of a passkey. */
  multi_factor_response?: string
}

interface Proof {
  method: DigestMethod
  digest: string
}

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

const noDigest = (method: DigestMethod) => {
  const cause = `credentials are no password: send ${digestWanted(method)}`
  const data = { message: 'invalid credentials', cause }
  return failure(invalidCredentials, { data }, new SignInRefusal('the credentials are no digest'))
}

const wrong = 'wrong user name or password'
const wrongFactor = 'wrong second factor'
const wrongPasskey = 'wrong passkey'
const notThroughProxy = 'this came through no allowed proxy'

const outsideProxies = ({ id }: AccountRecord) =>
  failure(forbidden, { cause: proxyRefusal }, new SignInRefusal(notThroughProxy, id))

export type Login = ReturnType<typeof createLogin>

export const createLogin = (tools: Deps) => {
  const { store, deriver, users, signIn, security, lock, providers, factors, passkeys, attempts } = tools
  const { networks, validate } = tools
  const { guesses } = deriver
  // Without an account the same work is done, so that the response time reveals nothing.
  const nobody: KeyPlace = { accountId: '0'.repeat(32), salt: randomHex(16) }

  const holderOf = async (visit: SignInClient, place: KeyPlace, proof: Proof) => {
    const asker = deriver.visitor(place.accountId, visit.clientAddress)
    return keyHolder({ records: store.records, deriver }, asker, place, proof)
  }

  const guessAtNobody = async (visit: SignInClient, login: Credentials, proof: Proof) => {
    const { phone_number, account_realm, realm, account_name, account_id } = login
    const called = [phone_number, account_realm, realm, account_name, account_id].join('/').toLowerCase()
    await guesses.assertFew(called, visit.clientAddress)
    await holderOf(visit, nobody, proof)
    await guesses.countWrong(called, visit.clientAddress)
  }

  const refuse = async (
    visit: SignInClient,
    account: AccountRecord,
    user: UserRecord | undefined,
    reason: string,
  ) => {
    const policy = await security.policyOf(account, module)
    if (policy.log_failed_attempts) {
      attempts.note(visit, { account, user, type: 'user_auth', module, succeeded: false, message: reason })
    }
    await lock.countFailure(visit.author, account)
  }

  const assertThroughProxy = async (visit: SignInClient, account: AccountRecord, user: UserRecord) => {
    if (isThroughAllowedProxy({ account, user }, visit.peerAddress)) return
    await refuse(visit, account, user, notThroughProxy)
    throw outsideProxies(account)
  }

  /** Checks a user with the correct password. */
  const admit = async (
    visit: SignInClient,
    host: string | undefined,
    account: AccountRecord,
    user: UserRecord,
  ): Promise<KnownUser> => {
    const policy = await security.policyOf(account, module)
    const deny = async (reason: string, shown: { data?: { message: string } } = {}) => {
      await refuse(visit, account, user, reason)
      return failure(invalidCredentials, shown, new SignInRefusal(reason, account.id))
    }
    if (!policy.enabled) throw await deny(wayDisabled)
    await assertInService(store, account)
    await assertThroughProxy(visit, account, user)
    if (await users.isPasswordExpired(user)) {
      throw await deny('password expired', { data: { message: 'password expired' } })
    }
    return { host, account, user, policy }
  }

  /** The user with this digest, in the first account that has one. */
  const identify = async (visit: SignInClient, login: Credentials): Promise<KnownUser> => {
    const digest = login.credentials.toLowerCase()
    const { method } = login
    if (!isDigest(method, digest)) throw noDigest(method)
    const candidates = await signIn.candidates(login)
    let reason = candidates.length === 0 ? 'there is no such account' : wrong
    if (candidates.length === 0) await guessAtNobody(visit, login, { method, digest })
    for (const account of candidates) {
      await lock.assertUnlocked(account)
      const place = { accountId: account.id, salt: account.hidden.signInSalt }
      await guesses.assertFew(account.id, visit.clientAddress)
      const user = await holderOf(visit, place, { method, digest })
      if (!user) await guesses.countWrong(account.id, visit.clientAddress)
      if (user && user.doc.enabled !== false) return admit(visit, login.host, account, user)
      if (user) reason = 'the user is disabled'
    }
    for (const account of candidates) await refuse(visit, account, undefined, 'invalid credentials')
    throw signInRefused(reason, candidates[0]?.id)
  }

  const noteFactor = (
    visit: SignInClient,
    { account, user, policy }: Pick<KnownUser, 'account' | 'user' | 'policy'>,
    succeeded: boolean,
    message: string,
  ) => {
    if (succeeded ? policy.log_successful_attempts : policy.log_failed_attempts) {
      attempts.note(visit, { account, user, type: 'multi_factor', module, succeeded, message })
    }
  }

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

  const holdAgainst = async (visit: SignInClient, known: KnownUser, response: string) => {
    if (!response.startsWith('{')) return factors.pass(visit.author, known, response)
    const { value, problems } = await validate(Assertion, jsonIn(response))
    if (hasProblems(problems)) return undefined
    const isGood = await passkeys.pass(visit.author, known.host, known, value)
    return isGood ? { recoveryCodes: undefined } : undefined
  }

  const passSecondFactor = async (visit: SignInClient, known: KnownUser, response: string) => {
    const passed = await holdAgainst(visit, known, response)
    noteFactor(visit, known, passed !== undefined, passed ? 'second factor passed' : wrongFactor)
    if (passed) return passed
    await lock.countFailure(visit.author, known.account)
    throw await challenge(known, new SignInRefusal(wrongFactor, known.account.id))
  }

  const secondFactor = async (
    visit: SignInClient,
    known: KnownUser,
    response: string | undefined,
  ): Promise<SecondFactor> => {
    const setting = known.policy.multi_factor
    if (!setting?.enabled) return undefined
    const provider = await providers.meantBy(known.account, setting)
    if (!provider && !(await passkeys.hasAny(known.user))) {
      noteFactor(visit, known, false, 'no multi factor authentication provider is configured')
      return undefined
    }
    if (response === undefined) throw await challenge(known)
    return passSecondFactor(visit, known, response)
  }

  const open = async (
    visit: SignInClient,
    { account, user, policy }: Pick<KnownUser, 'account' | 'user' | 'policy'>,
    factor: SecondFactor,
    message = 'signed in',
  ): Promise<IssuedSession> => {
    const session = await signIn.openSession(account, user, factor ? { multiFactor: true } : {})
    deriver.acquaintances.note(account.id, visit.clientAddress)
    networks.note(visit, account, user)
    await lock.unlock(visit.author, account)
    if (policy.log_successful_attempts) {
      attempts.note(visit, {
        account,
        user,
        type: 'user_auth',
        module,
        succeeded: true,
        message,
      })
    }
    const codes = factor?.recoveryCodes
    return codes ? { ...session, result: { ...session.result, recovery_codes: codes } } : session
  }

  const noteKey = async (
    visit: SignInClient,
    account: AccountRecord,
    succeeded: boolean,
    message: string,
  ) => {
    const policy = await security.policyOf(account, 'cb_api_auth')
    const facts = { account, user: undefined, type: 'api_auth', module: 'cb_api_auth' } as const
    if (succeeded ? policy.log_successful_attempts : policy.log_failed_attempts)
      attempts.note(visit, { ...facts, succeeded, message })
  }

  return {
    /** Whether Basic credentials are enough, which have no second factor. */
    async admitsPassword(account: AccountRecord, user: UserRecord): Promise<boolean> {
      const { enabled, multi_factor: factor } = await security.policyOf(account, module)
      if (!enabled || (await users.isPasswordExpired(user))) return false
      if (!factor?.enabled) return true
      return (await providers.meantBy(account, factor)) === undefined && !(await passkeys.hasAny(user))
    },

    async logIn(visit: SignInClient, login: Credentials): Promise<IssuedSession> {
      const known = await identify(visit, login)
      return open(visit, known, await secondFactor(visit, known, login.multi_factor_response))
    },

    /** The address for an authenticator app of a user without a factor; with the first code, a session. */
    async enrol(visit: SignInClient, login: Credentials): Promise<{ url: string } | IssuedSession> {
      const known = await identify(visit, login)
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
      if (hasPasskey && response === undefined) throw await challenge(known)
      const url = hasPasskey ? '' : await factors.enrolmentUrl(visit.author, known)
      if (response === undefined) return { url }
      return open(visit, known, await passSecondFactor(visit, known, response))
    },

    passkeyOptions: (host: string | undefined) => passkeys.signInOptions(host),

    /** Signs in with a passkey, which counts as both factors. */
    async byPasskey(
      visit: SignInClient,
      host: string | undefined,
      assertion: Assertion,
    ): Promise<IssuedSession> {
      const passkey = await passkeys.claimedBy(assertion)
      const user = passkey && (await users.find(passkey.accountId, passkey.doc.owner_id))
      if (!user) throw signInRefused('unknown passkey')
      const account = await signIn.accountOf(user)
      if (user.doc.enabled === false) throw signInRefused('the user is disabled', account.id)
      await lock.assertUnlocked(account)
      const policy = await security.policyOf(account, module)
      if (!policy.enabled) throw signInRefused(wayDisabled, account.id)
      await assertInService(store, account)
      await assertThroughProxy(visit, account, user)
      try {
        await passkeys.signIn(visit.author, host, passkey, assertion)
      } catch (error) {
        noteFactor(visit, { account, user, policy }, false, wrongPasskey)
        throw error instanceof Failure
          ? new Failure(error.kind, error.details, new SignInRefusal(wrongPasskey, account.id))
          : error
      }
      const both = { recoveryCodes: undefined }
      return open(visit, { account, user, policy }, both, 'signed in with a passkey')
    },

    async byApiKey(visit: SignInClient, key: string): Promise<IssuedSession> {
      try {
        const { account, ...session } = await signIn.byApiKey(key, visit.clientAddress)
        if (!isThroughAllowedProxy({ account, user: undefined }, visit.peerAddress))
          throw outsideProxies(account)
        await noteKey(visit, account, true, 'signed in')
        return session
      } catch (error) {
        const refusal = error instanceof Failure ? error.cause : undefined
        if (refusal instanceof SignInRefusal && refusal.accountId !== undefined)
          await noteKey(visit, await signIn.account(refusal.accountId), false, refusal.message)
        throw error
      }
    },
  }
}
