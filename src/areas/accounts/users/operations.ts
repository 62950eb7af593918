import { digestWanted, isDigest, isEmptyPassword } from '../../../auth/credentials.ts'
import type { Caller } from '../../../auth/deriving/derivation-turns.ts'
import {
  type AccountRecord,
  type Actor,
  accountKind,
  type UserDoc,
  type UserHidden,
  type UserRecord,
} from '../../../auth/identity.ts'
import { Failure, hasProblems, invalid, isOutage, joinProblems, type Problems } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import type { CreationNotice } from '../../../mail/notices.ts'
import { authSettings, crossbarSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { readsOf } from '../../../storage/collection.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { uniqueProblems } from '../../records.ts'
import type { AccountConfigs } from '../../system/configs/operations.ts'
import { createUserImporter } from './adoption.ts'
import {
  deletionProblems,
  hasSecrets,
  insecure,
  type ObjectType,
  passwordProblems,
  powerProblems,
  privilegeProblems,
  type Secrets,
  scopeProblems,
  separate,
  strengthProblems,
} from './rules.ts'
import { userBeginsAnew, userDeleted, userToWelcome } from './signals.ts'
import { createUserStore, uniqueNamesOf, usernameClaim } from './store.ts'

interface OwnedObjects {
  /** Adds the removal of all that a user owns to a change set. Returns their ids. */
  removeOwned(set: ChangeSet, account: AccountRecord, ownerId: string): Promise<readonly string[]>
}

interface Leaving {
  account: AccountRecord
  user: UserRecord
  objectTypes: readonly ObjectType[]
}

interface Deps extends DepsOf<'store' | 'deriver' | 'settings'> {
  /** Users own no objects of other types. */
  owned: Partial<Record<ObjectType, OwnedObjects>>
  configs: Pick<AccountConfigs, 'read' | 'subject'>
}

type Content = Parameters<ReturnType<typeof createUserStore>['revise']>[1]

const digestProblems = ({ credentials }: Secrets, username: string | undefined): Problems => {
  if (credentials === undefined) return {}
  if (isEmptyPassword('md5', credentials, username)) return insecure('credentials', ['a password'])
  if (isDigest('md5', credentials)) return {}
  const message = `Must be ${digestWanted('md5')}; send an undigested password as password`
  return { credentials: { wrong_format: { message } } }
}

/** What the schema cannot check. */
const userChecks = ({ store, configs }: Deps) => {
  const strengthProblemsIn = async (accountId: string, secrets: Secrets): Promise<Problems> => {
    const account = hasSecrets(secrets) && (await store.records.find(accountId, accountKind, accountId))
    const { should_enforce_strength: isEnforced } = account ? await passwordRules(configs, account) : {}
    return isEnforced === true ? strengthProblems(secrets) : {}
  }

  const namesTaken = (accountId: string, data: Json, own: UserRecord | undefined) =>
    uniqueProblems(store, uniqueNamesOf(accountId, data), own)

  const otherProblems = async (
    accountId: string,
    data: Json,
    own: UserRecord | undefined,
    actor: Actor | undefined,
  ): Promise<Problems> => {
    const separated = separate(data)
    const { secrets } = separated
    return joinProblems(
      passwordProblems(data.username, secrets, own?.doc),
      digestProblems(secrets, separated.doc.username ?? own?.doc.username),
      await strengthProblemsIn(accountId, secrets),
      actor ? privilegeProblems(actor, data.priv_level, own) : {},
      actor && own ? powerProblems(actor, separated, own) : {},
      actor ? scopeProblems(actor, separated, own) : {},
    )
  }

  const judge = async (accountId: string, data: Json, own?: UserRecord, actor?: Actor): Promise<Problems> =>
    joinProblems(await namesTaken(accountId, data, own), await otherProblems(accountId, data, own, actor))

  return {
    judge,

    /** The same for a new user. Without a password, `create` itself finds names that other users have. */
    judgeNew: (accountId: string, data: Json, actor: Actor): Promise<Problems> =>
      hasSecrets(separate(data).secrets)
        ? judge(accountId, data, undefined, actor)
        : otherProblems(accountId, data, undefined, actor),

    /** The failure of a creation: names that other users have are reported first, and all of them. */
    async refusalOf(error: unknown, accountId: string, data: Json) {
      if (!(error instanceof Failure) || isOutage(error)) return error
      const problems = await namesTaken(accountId, data, undefined)
      return hasProblems(problems) ? invalid(problems) : error
    },
  }
}

const passwordRules = async (configs: Deps['configs'], account: AccountRecord) =>
  configs.read(await configs.subject(account, 'auth.password'))

/** What is stored for a request. */
const composing = ({ store: { clock }, deriver, settings, configs }: Deps) => {
  const assertNotReused = async (account: AccountRecord, keys: readonly string[], before: UserRecord) => {
    const { should_prevent_reuse: isRefused } = await passwordRules(configs, account)
    if (isRefused === true && keys.some((key) => before.hidden.signInKeys.includes(key)))
      throw invalid(insecure('password', ['reused']))
  }

  const usernameFor = async (doc: UserDoc, secrets: Secrets): Promise<string | undefined> => {
    if (doc.username !== undefined || secrets.password === undefined) return doc.username
    const { generate_username_if_empty: allowed } = await settings.of(authSettings)
    if (allowed) return `user_${randomHex(8)}`
    throw invalid({ username: { required: { message: 'Field is required but missing', value: 'username' } } })
  }

  /** The keys of each layer, one list for each digest; undefined without a secret. */
  const deriveKeys = async (
    caller: Caller,
    { hidden: { signInSalt } }: AccountRecord,
    username: string | undefined,
    { password, credentials }: Secrets,
  ) => {
    if (password !== undefined && username)
      return deriver.signInKeysOf(caller, signInSalt, username, password)
    if (credentials) return [await deriver.signInKeys(caller, signInSalt, 'md5', credentials)]
    return undefined
  }

  /** A new password ends sessions. */
  return async (author: Author, account: AccountRecord, data: Json, before?: UserRecord) => {
    const { doc, secrets } = separate(data)
    const username = await usernameFor(doc, secrets)
    const layers = await deriveKeys(deriver.member(author, account.id), account, username, secrets)
    if (layers && before) await assertNotReused(account, layers.flat(), before)
    const keys = layers?.flatMap((ofDigest) => ofDigest.slice(-1))
    const { reset_identity_secret_on_rehash: endsSessions } = await settings.of(authSettings)
    const hidden: UserHidden = {
      signatureSecret: randomHex(32),
      signInKeys: [],
      ...before?.hidden,
      ...(username === undefined ? { signInKeys: [] } : {}),
      ...(keys ? { signInKeys: keys, passwordChanged: gregorianNow(clock) } : {}),
      ...(keys && endsSessions ? { signatureSecret: randomHex(32) } : {}),
    }
    return { doc: username === undefined ? doc : { ...doc, username }, hidden }
  }
}

export type Users = ReturnType<typeof createUsers>

export const createUsers = (deps: Deps) => {
  const { store, settings, owned } = deps
  const { records, clock } = store
  const users = createUserStore(store)
  const { adoption, moveIn } = createUserImporter(deps)
  const { judge, judgeNew, refusalOf } = userChecks(deps)
  const compose = composing(deps)

  const addTo = async (set: ChangeSet, account: AccountRecord, data: Json): Promise<UserRecord> => {
    const user = users.draft(account.id, await compose(set.author, account, data))
    users.insert(set, user)
    return user
  }

  const change = (set: ChangeSet, user: UserRecord, content: Content) => {
    const after = users.revise(user, content)
    users.replace(set, user, after)
    return after
  }

  const save = (author: Author, user: UserRecord, content: Content) =>
    committed(store, author, (set) => change(set, user, content))

  const passwordExpiry = async ({ hidden: { passwordChanged, signInKeys } }: UserRecord) => {
    const { password_expiry_s: seconds } = await settings.of(crossbarSettings)
    if (seconds === undefined || passwordChanged === undefined || signInKeys.length === 0) return undefined
    return passwordChanged + seconds
  }

  return {
    ...readsOf(users),

    inPath: ({ path }: { path: { account_id: string; user_id: string } }) =>
      users.get(path.account_id, path.user_id),

    adoption,
    moveIn,
    judge,
    judgeNew,
    addTo,

    /** Creates a user. `notice` sends a welcome email. */
    async create(
      author: Author,
      account: AccountRecord,
      data: Json,
      notice: CreationNotice,
    ): Promise<UserRecord> {
      const set = new ChangeSet(author)
      const user = await addTo(set, account, data)
      if (notice === 'mail') set.tell(userToWelcome, user)
      await store.commit(set).catch(async (error) => {
        throw await refusalOf(error, account.id, data)
      })
      return user
    },

    replace: async (author: Author, account: AccountRecord, user: UserRecord, data: Json) =>
      save(author, user, await compose(author, account, data, user)),

    /** Removes a user and its objects of these types. Other objects keep their owner. */
    async remove(author: Author, actor: Actor, { account, user, objectTypes }: Leaving) {
      const problems = deletionProblems(actor, user, objectTypes)
      if (hasProblems(problems)) throw invalid(problems)
      return committed(store, author, async (set) => {
        users.remove(set, user)
        set.tell(userDeleted, user)
        const removed: { type: ObjectType; id: string; status: 'success' }[] = []
        for (const type of objectTypes)
          for (const id of (await owned[type]?.removeOwned(set, account, user.id)) ?? [])
            removed.push({ type, id, status: 'success' })
        return removed
      })
    },

    resetSignatureSecret: (author: Author, user: UserRecord) =>
      save(author, user, { hidden: { ...user.hidden, signatureSecret: randomHex(32) } }),

    /** When the password expires (Gregorian seconds); undefined: never. */
    passwordExpiry,

    async isPasswordExpired(user: UserRecord) {
      const expiry = await passwordExpiry(user)
      return expiry !== undefined && expiry <= gregorianNow(clock)
    },

    async byUsername(accountId: string, username: string): Promise<UserRecord | undefined> {
      const holder = await records.claimant(usernameClaim(accountId, username))
      return holder && users.find(accountId, holder.id)
    },

    enable: (set: ChangeSet, user: UserRecord) => change(set, user, { doc: { ...user.doc, enabled: true } }),

    /** Sets a new password, enables the user, and ends sessions, second factors and mailed links. */
    async beginAnew(set: ChangeSet, account: AccountRecord, user: UserRecord, password: string) {
      const data = { ...user.doc, enabled: true, password }
      const { doc, hidden } = await compose(set.author, account, data, user)
      change(set, user, { doc, hidden: { ...hidden, signatureSecret: randomHex(32) } })
      set.tell(userBeginsAnew, user)
    },

    /** After a recovery the user must choose a new password. */
    requirePasswordUpdate: (set: ChangeSet, user: UserRecord) =>
      change(set, user, { doc: { ...user.doc, require_password_update: true } }),
  }
}
