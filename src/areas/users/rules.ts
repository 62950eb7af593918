import { type Actor, isSuperduper, privLevelOf, type UserDoc } from '../../auth/identity.ts'
import type { Problems } from '../../lib/failure.ts'
import type { Json } from '../../storage/records.ts'
import { userReadOnly } from './schema.ts'

/** The secrets in a request: they are derived and forgotten. */
export interface Secrets {
  password?: string
  /** A ready md5 digest of `username:password`. */
  credentials?: string
}

const notStored = [...userReadOnly, 'password', 'credentials', 'sync']

/** Splits a request into what is stored and what is only used. */
export const separate = (data: Json): { doc: UserDoc; secrets: Secrets } => {
  const doc: Json = { ...data }
  for (const key of notStored) delete doc[key]
  if (typeof doc.username === 'string') doc.username = doc.username.toLowerCase()
  const { password, credentials } = data
  return {
    doc: doc as UserDoc,
    secrets: {
      ...(typeof password === 'string' ? { password } : {}),
      ...(typeof credentials === 'string' ? { credentials: credentials.toLowerCase() } : {}),
    },
  }
}

/**
 * A digest holds the user name: with a new name, the old one is worth nothing, and only the password gives a new one.
 */
export const passwordProblems = (
  username: unknown,
  secrets: Secrets,
  before: UserDoc | undefined,
): Problems => {
  const isNew =
    typeof username === 'string' && before !== undefined && username.toLowerCase() !== before.username
  if (!isNew || secrets.password !== undefined || secrets.credentials !== undefined) return {}
  return {
    password: {
      required: { message: 'The password must be provided when updating the user name', cause: username },
    },
  }
}

/** An ordinary user must not make an admin of anybody, nor change one. */
export const privilegeProblems = (
  actor: Actor,
  privLevel: unknown,
  before: UserDoc | undefined,
): Problems => {
  if (privLevelOf(actor) === 'admin' || isSuperduper(actor)) return {}
  if (privLevel !== 'admin' && before?.priv_level !== 'admin') return {}
  return {
    priv_level: { forbidden: { message: 'Only an admin may create or change an admin', cause: privLevel } },
  }
}

const isEnabled = (value: unknown) => (value as { enabled?: boolean } | undefined)?.enabled === true

const hasForward = (forward: unknown) =>
  isEnabled(forward) || Object.values((forward ?? {}) as object).some((form) => isEnabled(form))

const callerIdNumber = (doc: UserDoc) =>
  (doc.caller_id as { external?: { number?: string } } | undefined)?.external?.number

const smartPbx = (doc: UserDoc) =>
  Object.entries((doc.smartpbx ?? {}) as object).flatMap(([name, value]) => (isEnabled(value) ? [name] : []))

/** What is switched on for a user, by the names that list rows carry (reference 01 section 4.3). */
export const featuresOf = (doc: UserDoc): string[] => {
  const features: [string, boolean][] = [
    ['hotdesk', isEnabled(doc.hotdesk)],
    ['call_forward', hasForward(doc.call_forward)],
    ['call_forward_failover', isEnabled(doc.call_failover)],
    ['caller_id', Boolean(callerIdNumber(doc))],
    ['vm_to_email', doc.vm_to_email_enabled === true],
    ['music_on_hold', Boolean((doc.music_on_hold as { media_id?: string } | undefined)?.media_id)],
    ['do_not_disturb', isEnabled(doc.do_not_disturb)],
  ]
  return [...features.filter(([, on]) => on).map(([name]) => name), ...smartPbx(doc)]
}
