import { areScopesWithin, bothAllow, settingScopes } from '../../../auth/api-keys.ts'
import {
  type Actor,
  isLimited,
  speaksForAccount,
  type UserDoc,
  type UserRecord,
} from '../../../auth/identity.ts'
import { adminCallFields, adminFieldProblems, isFieldChanged, reachFields } from '../../../auth/policies.ts'
import { failure, forbidden, invalid, type Problems } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { hasCallForward, hasExternalNumber, hasMusicOnHold, isEnabled } from '../../voice/devices/rules.ts'
import { userReadOnly } from './schema.ts'

// A portrait: larger ones belong on a file server.
export const maxPhotoBytes = 2_000_000

/** Secrets in a request: only keys derived from them are stored. */
export interface Secrets {
  password?: string
  /** MD5 of `username:password`. */
  credentials?: string
}

export const hasSecrets = (secrets: Secrets) => Object.keys(secrets).length > 0

const notStored = [...userReadOnly, 'password', 'credentials', 'sync']

type Separated = ReturnType<typeof separate>

export const separate = (data: Json) => {
  const doc = storedPart<Json>(data, { computed: notStored })
  if (typeof doc.username === 'string') doc.username = doc.username.toLowerCase()
  const { password, credentials, sync } = data
  const secrets: Secrets = {
    // Forms send fields that are not filled in as empty texts.
    ...(typeof password === 'string' && password !== '' ? { password } : {}),
    ...(typeof credentials === 'string' && credentials !== ''
      ? { credentials: credentials.toLowerCase() }
      : {}),
  }
  // With `sync`, the devices of the user load their settings again.
  return { doc: doc as UserDoc, secrets, sync }
}

/** A digest contains the user name, so a new name needs the password again. */
export const passwordProblems = (
  username: unknown,
  secrets: Secrets,
  before: UserDoc | undefined,
): Problems => {
  const isNew =
    typeof username === 'string' && before !== undefined && username.toLowerCase() !== before.username
  if (!isNew || hasSecrets(secrets)) return {}
  const message = 'The password must be provided when updating the user name'
  return { password: { required: { message, cause: username } } }
}

/**
 * An ordinary user cannot create or change admins. A caller with limits cannot either, except for its own user.
 */
export const privilegeProblems = (
  actor: Actor,
  privLevel: unknown,
  before: UserRecord | undefined,
): Problems => {
  if (!isLimited(actor) && speaksForAccount(actor)) return {}
  const levelBefore = before?.doc.priv_level
  if (privLevel !== 'admin' && levelBefore !== 'admin') return {}
  if (actor.user !== undefined && actor.user.id === before?.id && privLevel === levelBefore) return {}
  return {
    priv_level: { forbidden: { message: 'Only an admin may create or change an admin', cause: privLevel } },
  }
}

// Fields that decide who can sign in as the user: an email address allows password recovery.
const fieldsOfPower = [...adminCallFields, 'enabled', 'feature_level', 'scope_restrictions']
const fieldsOfIdentity = ['username', 'email', 'require_password_update']

/** An ordinary user changes its own password, names and call forwarding. Restrictions and who may sign in are up to admins. */
export const powerProblems = (
  actor: Actor,
  { doc, secrets, sync }: Separated,
  before: UserRecord,
): Problems => {
  // An ordinary user cannot change any field of an admin.
  if (speaksForAccount(actor) || before.doc.priv_level === 'admin') return {}
  const isOwn = actor.user?.id === before.id && actor.accountId === before.accountId
  if (isOwn) return adminFieldProblems(actor, fieldsOfPower, doc, before.doc)
  const own = [...fieldsOfPower, ...fieldsOfIdentity, ...reachFields, 'hotdesk', 'sync']
  const fields = [...own, ...Object.keys(secrets)]
  return adminFieldProblems(actor, fields, { ...doc, ...secrets, sync }, before.doc)
}

/** Ordinary users delete only themselves, and only without restrictions, which calls from their devices would lose. */
export const deletionProblems = (
  actor: Actor,
  user: UserRecord,
  objectTypes: readonly ObjectType[],
): Problems => {
  if (user.doc.priv_level === 'admin') return privilegeProblems(actor, 'admin', user)
  if (speaksForAccount(actor)) return {}
  if (actor.user?.id === user.id) {
    const restricted = 'Only an admin may delete a user with restrictions'
    const message = 'Only an admin may delete what a user owns'
    return {
      ...adminFieldProblems(actor, fieldsOfPower, {}, user.doc, restricted),
      ...(objectTypes.length > 0 && { object_types: { forbidden: { message, cause: objectTypes } } }),
    }
  }
  return { user: { forbidden: { message: 'Only an admin may delete another user', cause: user.id } } }
}

/** The scopes of the caller; undefined: everything. A session of a replaced API key can give nothing: a user would outlive it. */
const limitsOf = ({ scopes, key, hasReplacedKey }: Actor) =>
  hasReplacedKey ? [] : bothAllow(scopes, key?.doc.scopes)

/** A caller cannot let a user do, or become a user who may do, more than its own scopes allow. */
export const scopeProblems = (
  actor: Actor,
  { doc, secrets }: { doc: UserDoc; secrets: Secrets },
  before: UserRecord | undefined,
): Problems => {
  const limits = limitsOf(actor)
  const opens = hasSecrets(secrets)
  const takesPlace = () => {
    // A user with a password or an email address can sign in, by password or by a mailed link.
    if (before === undefined) return opens || doc.email !== undefined
    if (actor.user?.id === before.id) return false
    return opens || fieldsOfIdentity.some((field) => isFieldChanged(field, doc, before.doc))
  }
  const isWider = before !== undefined && isFieldChanged('scope_restrictions', doc, before.doc)
  if (limits === undefined || (!isWider && !takesPlace())) return {}
  if (areScopesWithin(settingScopes(doc.scope_restrictions), limits)) return {}
  const message = 'The caller cannot grant a user more rights than its own'
  return { scope_restrictions: { forbidden: { message, target: limits } } }
}

/** Whether a user is an admin that can sign in. */
export const isActingAdmin = ({ priv_level, enabled, username }: UserDoc) =>
  priv_level === 'admin' && enabled !== false && username !== undefined

/** The field of a change that would remove the caller's own admin rights; the refusal contains it. */
export const lostPower = ({ priv_level, enabled }: UserDoc) => {
  if (priv_level !== 'admin') return 'priv_level'
  return enabled === false ? 'enabled' : 'username'
}

const forOwnPassword: readonly string[] = ['password', 'credentials', 'require_password_update']

/** The token of a mailed link may only set a new password and clear `require_password_update`. */
export const assertServesPurpose = ({ claims, user }: Actor, subject: UserRecord, sent: unknown) => {
  if (claims?.purpose === undefined) return
  const keys = isObject(sent) ? Object.keys(sent) : []
  const isPassword = keys.includes('password') || keys.includes('credentials')
  const isAll = keys.every((key) => forOwnPassword.includes(key))
  if (user?.id === subject.id && isPassword && isAll) return
  throw failure(forbidden, { cause: 'the token can only be used to set a new password' })
}

/** The features that a console keeps under `smartpbx` of users and groups and that are enabled. */
export const smartPbxFeatures = (doc: object) => {
  const features = memberOf(doc, 'smartpbx')
  return isObject(features) ? Object.keys(features).filter((name) => isEnabled(features[name])) : []
}

/** Enabled features of a user, by their names in list rows. */
export const featuresOf = (doc: UserDoc): string[] => {
  const features: [string, boolean][] = [
    ['hotdesk', isEnabled(doc.hotdesk)],
    ['call_forward', hasCallForward(doc)],
    ['call_forward_failover', isEnabled(doc.call_failover)],
    ['caller_id', hasExternalNumber(doc)],
    ['vm_to_email', doc.vm_to_email_enabled === true],
    ['music_on_hold', hasMusicOnHold(doc)],
    ['do_not_disturb', isEnabled(doc.do_not_disturb)],
  ]
  return [...features.filter(([, on]) => on).map(([name]) => name), ...smartPbxFeatures(doc)]
}

/** Kinds of records that users own, by their names in `object_types`. */
const objectTypes = ['phone_numbers', 'callflow', 'vmbox', 'device', 'conference', 'faxbox', 'media'] as const
export type ObjectType = (typeof objectTypes)[number]

const isObjectType = (value: unknown): value is ObjectType => objectTypes.some((type) => type === value)

/** A query holds a list as JSON text. */
const jsonListIn = (value: unknown): unknown => {
  if (typeof value !== 'string' || !value.startsWith('[')) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Types of records to delete with the user, without repetitions; undefined if the request has none. */
export const objectTypesIn = (sent: unknown): readonly ObjectType[] | undefined => {
  if (sent === undefined) return undefined
  if (sent === 'all') return objectTypes
  const value = jsonListIn(sent)
  if (!Array.isArray(value)) {
    const message = 'Value must be `all` or a list of types'
    throw invalid({ object_types: { type: { message, target: 'array', value: sent } } })
  }
  const unknown = value.findIndex((type) => !isObjectType(type))
  if (unknown < 0) return objectTypes.filter((type) => value.includes(type))
  const message = 'Value not found in enumerated list of values'
  const problem = { message, target: objectTypes, value: value[unknown] }
  throw invalid({ [`object_types.${unknown}`]: { enum: problem } })
}

/** The 400 for a password that is too weak; it never repeats the password. */
export const insecure = (field: 'password' | 'credentials', details: string[]): Problems => ({
  [field]: { insecure: { message: 'The password is not secure enough', cause: details[0], details } },
})

const strengths: readonly (readonly [string, RegExp])[] = [
  ['at least 10 characters', /^.{10,}$/su],
  ['a digit', /\p{Nd}/u],
  ['a lower-case letter', /\p{Ll}/u],
  ['an upper-case letter', /\p{Lu}/u],
  ['a special character', /[^\p{L}\p{N}]/u],
]

/** Unmet strength rules of a password. A digest cannot be checked, so it is refused if strength is required. */
export const strengthProblems = ({ password, credentials }: Secrets): Problems => {
  if (password === undefined)
    return credentials === undefined ? {} : insecure('credentials', ['a password that the server can check'])
  const missing = strengths.filter(([, pattern]) => !pattern.test(password)).map(([name]) => name)
  return missing.length > 0 ? insecure('password', missing) : {}
}
