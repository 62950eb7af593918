import { isDigest, signInKey, signInKeysOf } from '../../auth/credentials.ts'
import type { AccountRecord, Actor, UserDoc, UserHidden, UserRecord } from '../../auth/identity.ts'
import { hasProblems, invalid, joinProblems, type Problems } from '../../lib/failure.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import { randomHex } from '../../lib/ids.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Author, ChangeSet, type Claim } from '../../storage/change-set.ts'
import type { Json } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { passwordProblems, privilegeProblems, type Secrets, separate } from './rules.ts'
import {
  createUserStore,
  hotdeskClaim,
  hotdeskIdOf,
  hotdeskTaken,
  usernameClaim,
  usernameTaken,
} from './store.ts'

interface Tools {
  store: Store
  settings: Settings
}

export type Users = ReturnType<typeof createUsers>

export const createUsers = ({ store, settings }: Tools) => {
  const users = createUserStore(store)
  const { records, clock } = store

  const isTaken = async (claim: Claim, own: UserRecord | undefined) => {
    const holder = await records.claimant(claim)
    return holder !== undefined && holder.id !== own?.id
  }

  const uniqueProblems = async (
    accountId: string,
    data: Json,
    own: UserRecord | undefined,
  ): Promise<Problems> => {
    const { username } = data
    const hotdesk = hotdeskIdOf(data)
    return {
      ...(typeof username === 'string' && (await isTaken(usernameClaim(accountId, username), own))
        ? usernameTaken(username)
        : {}),
      ...(hotdesk && (await isTaken(hotdeskClaim(accountId, hotdesk), own)) ? hotdeskTaken(hotdesk) : {}),
    }
  }

  const digestProblems = ({ credentials }: Secrets): Problems =>
    credentials === undefined || isDigest(credentials)
      ? {}
      : { credentials: { wrong_format: { message: 'Must be an MD5 digest in hex' } } }

  const madeUpUsername = async (doc: UserDoc, secrets: Secrets): Promise<string | undefined> => {
    if (doc.username !== undefined || secrets.password === undefined) return doc.username
    const { generate_username_if_empty: allowed } = await settings.of('crossbar.auth')
    if (allowed) return `user_${randomHex(8)}`
    throw invalid({ username: { required: { message: 'Field is required but missing', value: 'username' } } })
  }

  const deriveKeys = (account: AccountRecord, username: string | undefined, secrets: Secrets) => {
    const { signInSalt } = account.hidden
    if (secrets.password !== undefined && username)
      return signInKeysOf(signInSalt, username, secrets.password)
    if (secrets.credentials) return Promise.all([signInKey(signInSalt, 'md5', secrets.credentials)])
    return undefined
  }

  /** What is stored for a request: its secrets derived, the old sessions ended when the password is new. */
  const compose = async (account: AccountRecord, data: Json, before: UserRecord | undefined) => {
    const { doc, secrets } = separate(data)
    const username = await madeUpUsername(doc, secrets)
    const full: UserDoc = username === undefined ? doc : { ...doc, username }
    const keys = await deriveKeys(account, username, secrets)
    const { reset_identity_secret_on_rehash: endsSessions } = await settings.of('crossbar.auth')
    const hidden: UserHidden = {
      signatureSecret: randomHex(32),
      signInKeys: [],
      ...before?.hidden,
      ...(username === undefined ? { signInKeys: [] } : {}),
      ...(keys ? { signInKeys: keys, passwordChanged: gregorianNow(clock) } : {}),
      ...(keys && endsSessions ? { signatureSecret: randomHex(32) } : {}),
    }
    return { doc: full, hidden }
  }

  const save = async (author: Author, before: UserRecord, after: UserRecord) => {
    const set = new ChangeSet(author)
    users.replace(set, before, after)
    await store.commit(set)
    return after
  }

  return {
    collection: users,

    /** What the schema cannot know: names that others hold, missing passwords, privileges the actor has not. */
    async judge(accountId: string, data: Json, own?: UserRecord, actor?: Actor): Promise<Problems> {
      const { secrets } = separate(data)
      return joinProblems(
        await uniqueProblems(accountId, data, own),
        passwordProblems(data.username, secrets, own?.doc),
        digestProblems(secrets),
        actor ? privilegeProblems(actor, data.priv_level, own?.doc) : {},
      )
    },

    /** Adds a user to somebody's change set. */
    async addTo(set: ChangeSet, account: AccountRecord, data: Json): Promise<UserRecord> {
      const user = users.draft(account.id, await compose(account, data, undefined))
      users.insert(set, user)
      return user
    },

    async create(author: Author, account: AccountRecord, data: Json): Promise<UserRecord> {
      const set = new ChangeSet(author)
      const user = await this.addTo(set, account, data)
      await store.commit(set)
      return user
    },

    async replace(author: Author, account: AccountRecord, user: UserRecord, data: Json): Promise<UserRecord> {
      return save(author, user, users.revise(user, await compose(account, data, user)))
    },

    async remove(author: Author, actor: Actor, user: UserRecord): Promise<UserRecord> {
      const problems = privilegeProblems(actor, user.doc.priv_level, user.doc)
      if (hasProblems(problems)) throw invalid(problems)
      const set = new ChangeSet(author)
      users.remove(set, user)
      await store.commit(set)
      return user
    },

    /** Ends every session of the user. */
    async resetSignatureSecret(author: Author, user: UserRecord) {
      return save(
        author,
        user,
        users.revise(user, { hidden: { ...user.hidden, signatureSecret: randomHex(32) } }),
      )
    },

    /** After a recovery the user has to choose a new password. */
    async requirePasswordUpdate(author: Author, user: UserRecord) {
      return save(author, user, users.revise(user, { doc: { ...user.doc, require_password_update: true } }))
    },
  }
}
