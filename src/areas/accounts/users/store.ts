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
import { type ChangeSet, type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type UniqueName, uniqueClaims } from '../../records.ts'
import { featuresOf, isActingAdmin, lostPower } from './rules.ts'
import { User } from './schema.ts'

export const usernameClaim = (accountId: string, username: string): Claim => ({
  scope: accountId,
  name: 'username',
  value: username.toLowerCase(),
})

/** The names in a document that only one user of the account may have. */
export const uniqueNamesOf = (accountId: string, doc: object): UniqueName[] => {
  const unique = (claim: Claim, path: string, name: string, cause: string) => {
    const message = `${name} must be unique within account`
    return { claim, problems: { [path]: { unique: { message, cause } } } }
  }
  const username = memberOf(doc, 'username')
  const hotdesk = memberOf(doc, 'hotdesk', 'id')
  return [
    ...(typeof username === 'string' && username !== ''
      ? [unique(usernameClaim(accountId, username), 'username', 'Username', username)]
      : []),
    ...(typeof hotdesk === 'string' && hotdesk !== ''
      ? [unique({ scope: accountId, name: 'hotdesk', value: hotdesk }, 'hotdesk.id', 'Hotdesk ID', hotdesk)]
      : []),
  ]
}

const userClaims = ({ accountId: scope, id, doc, hidden }: UserRecord): StoredClaim[] => [
  ...uniqueClaims(uniqueNamesOf(scope, doc)),
  // Users are found by the beginning of this name. It contains the ID because it need not be unique.
  {
    scope,
    name: 'user_name',
    value: `${searchKey(`${doc.first_name}${doc.last_name}`)}/${id}`,
    orElse: conflict,
  },
  ...hidden.signInKeys.map((value) => ({ scope, name: 'sign_in', value, orElse: conflict })),
]

const lastAdmin = 'The last enabled admin of the master account cannot be changed: create another one first'

const lastAdminChanged = (after: UserDoc) => () =>
  invalid({ [lostPower(after)]: { forbidden: { message: lastAdmin, cause: lostPower(after) } } })

const lastAdminRemoved = (id: string) => () => failure(forbidden, { message: lastAdmin, cause: id })

// Two requests that each remove one of the last two admins lock the account in turn and count after they hold
// the lock: a count in the same statement would see the state before the wait.
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

    /** Written as it arrives from another system, even if the account loses its last admin there. */
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
