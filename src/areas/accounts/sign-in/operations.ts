import { bothAllow, type Scopes, settingScopes } from '../../../auth/api-keys.ts'
import { type AccountRecord, type Actor, assertInService, type UserRecord } from '../../../auth/identity.ts'
import type { TokenSubject } from '../../../auth/tokens.ts'
import {
  badIdentifierList,
  failure,
  invalid,
  missingParameter,
  preconditionFailed,
  SignInRefusal,
  signInRefused,
} from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { authSettings, crossbarSettings } from '../../../settings/documents.ts'
import type { DepsOf } from '../../area.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { ApiKeys } from '../api-keys/operations.ts'
import type { LoginAttempts, SignInClient } from '../login-attempts/operations.ts'
import type { Security } from '../security/operations.ts'
import { notRenewable } from './failures.ts'
import type { accountKeys } from './rules.ts'
import type { UserAuth } from './schema.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'tokens'> {
  accounts: Accounts
  security: Security
  apiKeys: ApiKeys
  accountOfNumber(number: string): Promise<AccountRecord | undefined>
}

/** The ways to name an account at sign-in. */
export type AccountNames = Pick<UserAuth, (typeof accountKeys)[number]>

export interface IssuedSession {
  token: string
  result: Json
}

type Proof = Pick<TokenSubject, 'origins' | 'multiFactor' | 'purpose' | 'lifetimeSeconds'>

/** Apps of web clients, of which the server knows the names. */
const appsOf = ({ doc: { available_apps: names } }: AccountRecord) =>
  Array.isArray(names) ? names.map((name) => ({ id: name, name, label: name })) : []

const userInfo = ({ id, doc, hidden }: UserRecord) => {
  const { first_name, last_name, email, username, priv_level } = doc
  const full_name = `${first_name} ${last_name}`
  const has_avatar = hidden.hasAvatar ?? false
  return {
    owner_id: id,
    user_info: { first_name, last_name, full_name, email, username, priv_level, has_avatar },
  }
}

export const wayDisabled = 'this sign-in method is disabled'

export type SignIn = ReturnType<typeof createSignIn>

export const createSignIn = (deps: Deps) => {
  const { store, settings, tokens, accounts, security, apiKeys, accountOfNumber } = deps

  const loginResult = async (
    account: AccountRecord,
    user: UserRecord | undefined,
    scopes: Scopes | undefined,
  ): Promise<Json> => {
    const { default_language: language } = await settings.of(crossbarSettings)
    return {
      account_id: account.id,
      account_name: account.doc.name,
      reseller_id: await accounts.resellerOf(account),
      is_reseller: account.hidden.isReseller,
      is_master_account: account.hidden.tree.length === 0,
      language: user?.doc.language ?? account.doc.language ?? language,
      apps: appsOf(account),
      capabilities: {},
      ui_config: {},
      ...(scopes ? { scope: scopes.join(' ') } : {}),
      ...(user ? userInfo(user) : {}),
    }
  }

  /** Lifetime and scopes of a new token. Basic credentials are the user's password. */
  const termsOf = async ({ account, user, method }: Pick<TokenSubject, 'account' | 'user' | 'method'>) => {
    const way = method === 'cb_basic_auth' ? 'cb_user_auth' : method
    const { token_auth_expiry_s: lifetimeSeconds, scopes } = await security.policyOf(account, way)
    return { lifetimeSeconds, scopes: bothAllow(scopes, settingScopes(user?.doc.scope_restrictions)) }
  }

  const issue = async (
    subject: Pick<TokenSubject, 'account' | 'user' | 'method' | 'key'>,
    proof: Proof,
  ): Promise<IssuedSession> => {
    const terms = await termsOf(subject)
    const token = await tokens.issue({ ...subject, ...terms, ...proof })
    return { token, result: await loginResult(subject.account, subject.user, terms.scopes) }
  }

  return {
    /** The first of phone number, realm, name and ID that finds an account decides. */
    async candidates(names: AccountNames): Promise<AccountRecord[]> {
      const { phone_number: phone, account_name: name, account_id: id } = names
      const realm = names.account_realm ?? names.realm
      const found = (phone && (await accountOfNumber(phone))) || (realm && (await accounts.byRealm(realm)))
      if (found) return [found]
      const named = name ? await accounts.byName(name) : []
      if (named.length > 0) return named
      const byId = id && (await accounts.find(id))
      return byId ? [byId] : []
    },

    account: accounts.get,

    /** Scopes of Basic credentials; undefined: everything. */
    scopesOf: async (account: AccountRecord, user: UserRecord) =>
      (await termsOf({ account, user, method: 'cb_user_auth' })).scopes,

    /** A session for an authenticated or impersonated user. */
    openSession: (account: AccountRecord, user: UserRecord, proof: Proof = {}) =>
      issue({ account, user, method: 'cb_user_auth' }, proof),

    /** A session with the rights of the account and without a user. */
    async byApiKey(text: string, clientAddress: string): Promise<IssuedSession & { account: AccountRecord }> {
      const key = await apiKeys.opening(text, clientAddress)
      const account = key ? await accounts.find(key.accountId) : await accounts.byApiKey(text)
      if (!account) throw failure(badIdentifierList, { values: [text] }, new SignInRefusal('unknown API key'))
      const { enabled } = await security.policyOf(account, 'cb_api_auth')
      if (!enabled) throw signInRefused(wayDisabled, account.id)
      await assertInService(store, account)
      const subject = { account, user: undefined, method: 'cb_api_auth', ...(key ? { key } : {}) } as const
      return { account, ...(await issue(subject, {})) }
    },

    async renew({ account, user, method, claims }: Actor): Promise<IssuedSession> {
      if (!claims) throw failure(preconditionFailed, { message: 'invalid token for renew' })
      const { renew: allowed } = await settings.of(authSettings)
      if (!allowed) throw failure(notRenewable, { method })
      const proof = { origins: claims.origins, ...(claims.mfa_resp ? { multiFactor: true } : {}) }
      return issue({ account, user, method }, proof)
    },

    /** Public claims of a token, with the login result of its owner. */
    async tokenInfo(actor: Actor): Promise<Json> {
      const { exp, identity_sig, iss, method, iat, jti, scope, origins, api_key_mark, ...claims } =
        actor.claims ?? ({} as never)
      return {
        ...claims,
        account_realm: actor.account.doc.realm,
        ...(await loginResult(actor.account, actor.user, actor.scopes)),
      }
    },

    async inspect(token: unknown, place: 'params' | 'request'): Promise<Json> {
      if (typeof token !== 'string' || token === '')
        throw failure(missingParameter, { message: `missing token in ${place}` })
      return this.tokenInfo(await tokens.verify(token))
    },
  }
}

interface ImpersonationDeps extends DepsOf<'store' | 'tokens'> {
  signIn: SignIn
  attempts: LoginAttempts
}

/** The caller; of nested impersonations the first one. */
const originalOf = ({ accountId, user, claims }: Actor) => {
  const userId = claims?.original_account_id ? claims.original_owner_id : user?.id
  return { accountId: claims?.original_account_id ?? accountId, ...(userId ? { userId } : {}) }
}

export type Impersonate = ReturnType<typeof createImpersonate>

/** Needs no second factor. The attempt is stored before the session is returned. */
export const createImpersonate =
  ({ store, signIn, tokens, attempts }: ImpersonationDeps) =>
  async (
    visit: SignInClient,
    actor: Actor,
    account: AccountRecord,
    user: UserRecord,
  ): Promise<IssuedSession> => {
    await assertInService(store, account)
    if (user.doc.enabled === false)
      throw invalid({ user: { disabled: { message: 'user disabled', cause: user.id } } })
    const original = originalOf(actor)
    const session = await signIn.openSession(account, user, { origins: await tokens.originsOf(actor) })
    const by = original.userId ? `user ${original.userId}` : 'an API key'
    const message = `impersonated by ${by} of account ${original.accountId}`
    await attempts.keep(visit, { account, user, type: 'impersonation', succeeded: true, message })
    return session
  }
