import { isDeepStrictEqual } from 'node:util'
import type { Problems } from '../lib/failure.ts'
import { isObject, type Json } from '../lib/json.ts'
import { memberOf } from '../lib/member.ts'
import { type Actor, speaksForAccount } from './identity.ts'

/** Fields of accounts, users and devices that restrict or record calls, choose carriers, or name the caller to the outside. */
export const adminCallFields = [
  'call_limits',
  'call_recording',
  'call_restriction',
  'caller_id.asserted',
  'caller_id.emergency',
  'caller_id.external',
  'caller_id_options.format',
  'caller_id_options.type',
  'flags',
  'formatters',
] as const

/** Fields that decide where calls to and from somebody go. Users set them for themselves and their devices, admins for all. */
export const reachFields = [
  'call_failover',
  'call_forward',
  'dial_plan',
  'do_not_disturb',
  'metaflows',
] as const

/** Without these fields a record is like one with these values. */
const standards: Readonly<Json> = { enabled: true }

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

/** A member that is an object says something by its key, as in `users: {[id]: {}}`. */
const isNothing = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.values(value).every(isEmpty) : isEmpty(value)

/** The value of a field, of restrictions those that deny. */
const guardedValue = (doc: object, field: string) => {
  const value = memberOf(doc, ...field.split('.')) ?? standards[field]
  if (field !== 'call_restriction' || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, restriction]) => memberOf(restriction, 'action') !== 'inherit'),
  )
}

export const isFieldChanged = (field: string, data: object, before: object) => {
  const [after, earlier] = [guardedValue(data, field), guardedValue(before, field)]
  return !isDeepStrictEqual(after, earlier) && !(isNothing(after) && isNothing(earlier))
}

/** The refusal of a request in which an ordinary user sets, changes or removes one of these fields. */
export const adminFieldProblems = (
  actor: Pick<Actor, 'user'>,
  fields: readonly string[],
  data: object,
  before: object,
  message = 'Only an admin may change this',
): Problems =>
  speaksForAccount(actor)
    ? {}
    : Object.fromEntries(
        fields
          .filter((field) => isFieldChanged(field, data, before))
          // What was sent is not repeated: it may be a secret.
          .map((field) => [field, { forbidden: { message, cause: field } }]),
      )
