import {
  adminsAmongUsers,
  type UserDoc,
  type UserHidden,
  type UserRecord,
  userKind,
} from '../../../auth/identity.ts'
import { type Failure, failure, forbidden, invalid } from '../../../lib/failure.ts'
import { memberOf } from '../../../lib/member.ts'
import { searchKey } from '../../../lib/search-key.ts'
import { fingerprint } from '../../../lib/secrets.ts'
import { type ChangeSet, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { featuresOf, isActingAdmin, lostPower } from './rules.ts'
import { User } from './schema.ts'

export const usernameTaken = (username: unknown) => ({
  username: { unique: { message: 'Username must be unique within account', cause: username } },
})

export const hotdeskTaken = (id: unknown) => ({
  'hotdesk.id': { unique: { message: 'Hotdesk ID must be unique within account', cause: id } },
})

export const usernameClaim = (accountId: string, username: string) => ({
  scope: accountId,
  name: 'username',
  value: username.toLowerCase(),
})

export const hotdeskClaim = (accountId: string, id: string) => ({
  scope: accountId,
  name: 'hotdesk',
  value: id,
})

const signInClaim = (accountId: string, value: string) => ({
  scope: accountId,
  name: 'sign_in',
  value,
})

export const hotdeskIdOf = (doc: object) => {
  const id = memberOf(doc, 'hotdesk', 'id')
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** Not a name that must be unique, hence the id behind it: users are found by how it begins. */
const searchClaim = (accountId: string, id: string, doc: UserDoc) => ({
  scope: accountId,
  name: 'user_name',
  value: `${searchKey(`${doc.first_name}${doc.last_name}`)}/${id}`,
})

const userClaims = ({ accountId, id, doc, hidden }: UserRecord): StoredClaim[] => {
  const hotdesk = hotdeskIdOf(doc)
  return [
    ...(doc.username
      ? [{ ...usernameClaim(accountId, doc.username), orElse: () => invalid(usernameTaken(doc.username)) }]
      : []),
    ...(hotdesk
      ? [{ ...hotdeskClaim(accountId, hotdesk), orElse: () => invalid(hotdeskTaken(hotdesk)) }]
      : []),
    { ...searchClaim(accountId, id, doc), orElse: conflict },
    ...hidden.signInKeys.map((value) => ({ ...signInClaim(accountId, value), orElse: conflict })),
  ]
}

const lastAdmin = 'The last enabled admin of the master account stays what it is: make another one before'

const lastAdminChanged = (after: UserDoc) => () =>
  invalid({ [lostPower(after)]: { forbidden: { message: lastAdmin, cause: lostPower(after) } } })

const lastAdminRemoved = (id: string) => () => failure(forbidden, { message: lastAdmin, cause: id })

// Those who take one of the last two admins away at once hold the account one after the other, and look when they hold
// it: a look in the same statement would see what was there before it waited.
const holdAccount =
  "UPDATE records SET revision = revision WHERE account_id = $1 AND kind = 'account' AND id = $1"

export const createUserStore = (store: Store) => {
  const { words } = store

  const requireAdmin = `UPDATE records SET revision = revision
    WHERE account_id = $1 AND kind = 'account' AND id = $1 AND (
      EXISTS (SELECT 1 FROM account_tree t WHERE t.account_id = $1)
      OR EXISTS (SELECT 1 FROM records u WHERE u.account_id = $1 AND u.kind = '${userKind}'
        AND u.owner_id = '${adminsAmongUsers}' AND NOT ${words.isFalseIn('u.doc', 'enabled')}
        AND ${words.isSaidIn('u.doc', 'username')}))`

  /** Fails the change set if it leaves the account on top of all without an admin who can sign in. */
  const keepAdmin = (set: ChangeSet, { accountId }: UserRecord, orElse: () => Failure) =>
    set.run(holdAccount, [accountId]).run(requireAdmin, [accountId], { rows: 1, orElse })

  const collection = createCollection<UserDoc, UserHidden>(store, {
    kind: userKind,
    secrets: () => User,
    ownerId: ({ priv_level }) => (priv_level === 'admin' ? adminsAmongUsers : ''),
    sortKey: (doc) => sortKeyOf(doc.last_name, doc.first_name),
    row: (doc) => ({
      first_name: doc.first_name,
      last_name: doc.last_name,
      username: doc.username,
      email: doc.email,
      priv_level: doc.priv_level,
      feature_level: doc.feature_level,
      presence_id: doc.presence_id,
      timezone: doc.timezone,
      call_recording: doc.call_recording,
      service: doc.service,
      flags: doc.flags ?? [],
      features: featuresOf(doc),
    }),
    claims: userClaims,
    counts: (doc) =>
      doc.enabled === false ? [] : [['users', doc.priv_level === 'admin' ? 'admin' : 'user']],
    audited: (hidden) => ({
      has_avatar: hidden.hasAvatar ?? false,
      password: fingerprint(hidden.signInKeys.join()),
      signature_secret: fingerprint(hidden.signatureSecret),
    }),
  })

  return {
    ...collection,

    /** What is written as it arrives from another system: nobody is kept from ceasing to be an admin there. */
    arrivals: collection,

    replace(set: ChangeSet, before: UserRecord, after: UserRecord) {
      collection.replace(set, before, after)
      if (isActingAdmin(before.doc) && !isActingAdmin(after.doc))
        keepAdmin(set, before, lastAdminChanged(after.doc))
    },

    remove(set: ChangeSet, user: UserRecord) {
      collection.remove(set, user)
      if (isActingAdmin(user.doc)) keepAdmin(set, user, lastAdminRemoved(user.id))
    },
  }
}
