import { type DigestMethod, isDigest, signInKey } from '../../auth/credentials.ts'
import type { AccountRecord, Actor, UserRecord } from '../../auth/identity.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { normalizeNumber } from '../../lib/e164.ts'
import { Failure, failure, invalid } from '../../lib/failure.ts'
import { isId } from '../../lib/ids.ts'
import type { Settings } from '../../settings/settings.ts'
import { systemScope } from '../../storage/change-set.ts'
import type { Json } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { Users } from '../users/operations.ts'

interface Tools {
  store: Store
  settings: Settings
  tokens: Tokens
  accounts: Accounts
  users: Users
}

/** The ways to name an account at sign-in. */
export interface AccountNames {
  phone_number?: string
  account_realm?: string
  realm?: string
  account_name?: string
  account_id?: string
}

export interface Login extends AccountNames {
  credentials: string
  method?: string
}

export interface Session {
  token: string
  result: Json
}

const noCredentials = () => failure('invalid_credentials', {})

const accountDisabled = (account: AccountRecord) =>
  invalid({ account: { disabled: { message: 'account disabled', cause: account.id } } })

export type SignIn = ReturnType<typeof createSignIn>

export const createSignIn = ({ store, settings, tokens, accounts, users }: Tools) => {
  const byNumber = async (number: string) => {
    const value = normalizeNumber(number)
    const holder = value && (await store.records.claimant({ scope: systemScope, name: 'number', value }))
    return holder ? accounts.find(holder.accountId) : undefined
  }

  /** Phone number, realm, name, id: the first that finds an account decides; what finds nothing falls through. */
  const candidates = async (names: AccountNames): Promise<AccountRecord[]> => {
    const realm = names.account_realm ?? names.realm
    const byPhone = names.phone_number && (await byNumber(names.phone_number))
    if (byPhone) return [byPhone]
    const byRealm = realm && (await accounts.byRealm(realm))
    if (byRealm) return [byRealm]
    const byName = names.account_name ? await accounts.byName(names.account_name) : []
    if (byName.length > 0) return byName
    const byId =
      names.account_id && isId(names.account_id) ? await accounts.find(names.account_id) : undefined
    return byId ? [byId] : []
  }

  const holderOf = async (account: AccountRecord, method: DigestMethod, digest: string) => {
    const value = await signInKey(account.hidden.signInSalt, method, digest)
    const holder = await store.records.claimant({ scope: account.id, name: 'sign_in', value })
    return holder && users.collection.find(account.id, holder.id)
  }

  /** What a login answers besides the token. */
  const loginResult = async (account: AccountRecord, user: UserRecord | undefined): Promise<Json> => {
    const { default_language: language } = await settings.of('crossbar')
    const { first_name, last_name, email, username, priv_level } = user?.doc ?? {}
    return {
      account_id: account.id,
      account_name: account.doc.name,
      reseller_id: await accounts.resellerOf(account),
      is_reseller: account.hidden.isReseller,
      is_master_account: account.hidden.tree.length === 0,
      language: user?.doc.language ?? account.doc.language ?? language,
      apps: [],
      capabilities: {},
      ui_config: {},
      ...(user
        ? {
            owner_id: user.id,
            user_info: {
              first_name,
              last_name,
              full_name: `${first_name} ${last_name}`,
              email,
              username,
              priv_level,
              has_avatar: user.hidden.hasAvatar ?? false,
            },
          }
        : {}),
    }
  }

  return {
    candidates,
    loginResult,

    /** The user whom a digest belongs to, in the first account that knows it. */
    async identify(login: Login): Promise<{ account: AccountRecord; user: UserRecord }> {
      const digest = login.credentials.toLowerCase()
      if (!isDigest(digest)) throw noCredentials()
      const method: DigestMethod = login.method === 'sha' ? 'sha' : 'md5'
      for (const account of await candidates(login)) {
        const user = await holderOf(account, method, digest)
        if (!user || user.doc.enabled === false) continue
        if (!account.hidden.enabled) throw accountDisabled(account)
        return { account, user }
      }
      throw noCredentials()
    },

    async openSession(account: AccountRecord, user: UserRecord): Promise<Session> {
      const token = await tokens.issue({ account, user, method: 'cb_user_auth' })
      return { token, result: await loginResult(account, user) }
    },

    /** An API key's session: the account's rights, nobody's name. */
    async byApiKey(key: string): Promise<Session> {
      const account = await accounts.byApiKey(key)
      if (!account) throw failure('bad_identifier_list', { values: [key] })
      if (!account.hidden.enabled) throw accountDisabled(account)
      const token = await tokens.issue({ account, user: undefined, method: 'cb_api_auth' })
      return { token, result: await loginResult(account, undefined) }
    },

    /** A fresh token for whoever holds a good one. */
    async renew({ account, user, method, claims }: Actor): Promise<Session> {
      if (!claims) throw failure('precondition_failed', { message: 'invalid token for renew' })
      const { renew: allowed } = await settings.of('crossbar.auth')
      if (!allowed) throw failure('not_renewable', { method })
      const original = claims.original_account_id
        ? {
            accountId: claims.original_account_id,
            ...(claims.original_owner_id ? { userId: claims.original_owner_id } : {}),
          }
        : undefined
      const token = await tokens.issue({
        account,
        user,
        method,
        ...(original ? { original } : {}),
        ...(claims.mfa_resp ? { multiFactor: true } : {}),
      })
      return { token, result: await loginResult(account, user) }
    },

    /** What a token says, with the login result of its owner. Its proofs stay inside. */
    async tokenInfo(actor: Actor): Promise<Json> {
      const { exp, identity_sig, iss, method, iat, jti, ...claims } = actor.claims ?? ({} as never)
      return {
        ...claims,
        account_realm: actor.account.doc.realm,
        ...(await loginResult(actor.account, actor.user)),
      }
    },

    /** The actor behind a token that was handed in as data. */
    async inspect(token: unknown, place: 'params' | 'request'): Promise<Json> {
      if (typeof token !== 'string' || token === '') {
        throw failure('missing_parameter', { message: `missing token in ${place}` })
      }
      try {
        return await this.tokenInfo(await tokens.verify(token))
      } catch (error) {
        if (error instanceof Failure && error.kind === 'invalid_credentials') {
          throw failure('invalid_credentials', { message: 'invalid credentials' }, error)
        }
        throw error
      }
    },
  }
}
