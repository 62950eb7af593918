import {
  adminsAmongUsers,
  type UserDoc,
  type UserHidden,
  type UserRecord,
  userKind,
} from '../../auth/identity.ts'
import { invalid } from '../../lib/failure.ts'
import { memberOf } from '../../lib/member.ts'
import { searchKey } from '../../lib/search-key.ts'
import { fingerprint } from '../../lib/secrets.ts'
import { conflict } from '../../storage/change-set.ts'
import { createCollection, type HeldClaim } from '../../storage/collection.ts'
import { sortKeyOf } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { featuresOf } from './rules.ts'
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

const claims = ({ accountId, id, doc, hidden }: UserRecord): HeldClaim[] => {
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

export const createUserStore = (store: Store) =>
  createCollection<UserDoc, UserHidden>(store, {
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
    claims,
    counts: (doc) =>
      doc.enabled === false ? [] : [['users', doc.priv_level === 'admin' ? 'admin' : 'user']],
    audited: (hidden) => ({
      has_avatar: hidden.hasAvatar ?? false,
      password_fingerprint: fingerprint(hidden.signInKeys.join()),
      signature_fingerprint: fingerprint(hidden.signatureSecret),
    }),
  })
