// Compares source documents with API responses key by key. Nothing here uses the conversions of the import, so that their
// mistakes show.

import { accountReadOnly } from '../../src/areas/accounts/accounts/schema.ts'
import { userReadOnly } from '../../src/areas/accounts/users/schema.ts'
import { callflowReadOnly } from '../../src/areas/voice/callflows/schema.ts'
import { connectivityReadOnly } from '../../src/areas/voice/connectivity/schema.ts'
import { deviceReadOnly } from '../../src/areas/voice/devices/schema.ts'
import { groupReadOnly } from '../../src/areas/voice/groups/schema.ts'
import { resourceReadOnly } from '../../src/areas/voice/resources/schema.ts'
import { isObject, isTrue, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { maskSecrets } from '../../src/lib/secrets.ts'

interface ComparedKind {
  /** Where the API has the record, below its account. */
  path(id: string): string
  /** Keys that either system computes, that only sign-in requests contain, or that only an operator sets here. */
  computed: readonly string[]
}

/** Types of documents of an account's database that become one record each. */
export const comparedKinds: Readonly<Record<string, ComparedKind>> = {
  account: { path: () => '', computed: [...accountReadOnly, 'trial_expires'] },
  user: { path: (id) => `/users/${id}`, computed: [...userReadOnly, 'password', 'credentials', 'sync'] },
  device: { path: (id) => `/devices/${id}`, computed: [...deviceReadOnly, 'sync'] },
  callflow: { path: (id) => `/callflows/${id}`, computed: callflowReadOnly },
  group: { path: (id) => `/groups/${id}`, computed: groupReadOnly },
  resource: { path: (id) => `/resources/${id}`, computed: resourceReadOnly },
  sys_info: { path: (id) => `/connectivity/${id}`, computed: connectivityReadOnly },
  whitelabel: { path: () => '/whitelabel', computed: ['id'] },
  limits: { path: () => '/limits', computed: ['id', 'allow_postpay', 'max_postpay_amount'] },
  // Bookkeepers are of one system: the report lists those that have to be chosen again.
  service_plan: { path: (id) => `/service_plans/${id}`, computed: ['id', 'bookkeeper', 'bookkeepers'] },
  number: {
    path: (number) => `/phone_numbers/${number}`,
    computed: ['id', 'state', 'used_by', 'features', 'created', 'modified'],
  },
}

/** A value of a document that the response does not have, or has otherwise. */
export interface KeyDifference {
  path: string
  there: unknown
  here: unknown
}

/** Names and addresses that are compared without case, or without what separates their digits. */
const folded: ReadonlySet<string> = new Set([
  'username',
  'realm',
  'auth_realm',
  'mac_address',
  'endpoint_brand',
  'endpoint_family',
  'endpoint_model',
])

const fold = (key: string, text: string) =>
  text.toLowerCase().replaceAll(key === 'mac_address' ? /[^0-9a-f]/g : /\s/g, '')

/** Older values, and what they are called today. */
const renamed: Readonly<Record<string, unknown>> = {
  'e.164': 'e164',
  '1npanxxxxxx': '1npan',
  npanxxxxxx: 'npan',
  e164_without_plus: 'strip_plus',
}

const digitsOf = (text: string) => text.replaceAll(/\D/g, '')

/** The same phone number, with or without its prefix. */
const isSameNumber = (there: string, here: string) =>
  here === there ||
  (digitsOf(there).length > 6 && digitsOf(here).endsWith(digitsOf(there).replace(/^0+/, '')))

const isSameText = (key: string, there: string, here: unknown) => {
  if (here === undefined) return false
  if (String(here) === there || renamed[there] === here) return true
  if (key === 'fax_option' && there === 'auto') return here === true
  return typeof here === 'string' && folded.has(key) && fold(key, here) === fold(key, there)
}

const shown = (key: string, value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(maskSecrets(JSON.stringify({ [key]: value })))[key]

interface Compared {
  /** The realms of the account: records do not repeat them. */
  realms: readonly unknown[]
  rejected: Json
}

/** Without list members that were rejected, and with the position that each of the others has in the response. */
const positions = (list: readonly unknown[], path: readonly string[], rejected: Json) => {
  let position = 0
  return list.map((_, index) => {
    const isRejected = Object.hasOwn(rejected, pathOf([...path, String(index)]))
    if (!isRejected) position += 1
    return isRejected ? undefined : position - 1
  })
}

const valueAt = (value: unknown, key: string) =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key) ? value[key as never] : undefined

/** The key of the response that means the same number. */
const numberKeyed = (here: unknown, number: string) =>
  isObject(here) ? Object.entries(here).find(([key]) => isSameNumber(number, key))?.[1] : undefined

export const keyDifferences = (there: Json, here: Json, { realms, rejected }: Compared): KeyDifference[] => {
  const found: KeyDifference[] = []

  const compareLists = (path: readonly string[], list: readonly unknown[], other: unknown) => {
    const isOfNumbers = path.length === 1 && path[0] === 'numbers'
    const places = positions(list, path, rejected)
    for (const [index, item] of list.entries()) {
      const place = [...path, String(index)]
      const others: readonly unknown[] = Array.isArray(other) ? other : []
      const same = isOfNumbers
        ? others.find((one) => isSameNumber(String(item), String(one)))
        : valueAt(other, String(Array.isArray(other) ? places[index] : index))
      if (isOfNumbers && same !== undefined) continue
      compare(place, item, same)
    }
  }

  const compare = (path: readonly string[], one: unknown, other: unknown): void => {
    const key = path.at(-1) ?? ''
    const isRejected = Object.hasOwn(rejected, pathOf(path))
    if (one === undefined || (one === null && !isRejected)) return
    const isOwnRealm = /realm$/.test(key) && other === undefined && realms.includes(String(one).toLowerCase())
    const isEmpty = one === '' && other === undefined && !isRejected
    if (isOwnRealm || isEmpty) return
    if (Array.isArray(one) && one.length > 0) {
      compareLists(path, one, other)
      return
    }
    if (isObject(one) && Object.keys(one).length > 0 && isObject(other)) {
      for (const [inner, value] of Object.entries(one))
        compare([...path, inner], value, key === 'DIDs' ? numberKeyed(other, inner) : valueAt(other, inner))
      return
    }
    const isSame =
      typeof one === 'object'
        ? JSON.stringify(one) === JSON.stringify(other)
        : isSameText(key, path[0] === 'outbound_flags' ? String(one).trim() : String(one), other)
    if (!isSame) found.push({ path: pathOf(path), there: shown(key, one), here: shown(key, other) })
  }

  for (const [key, value] of Object.entries(there)) compare([key], value, valueAt(here, key))
  return found
}

/** Providers of emergency services, of which each had a feature in older versions. */
const e911Names = ['dash_e911', 'vitelity_e911', 'telnyx_e911']

/** The public keys of a document, with what its private ones decide. */
export const publicKeys = (fields: Json, { computed }: ComparedKind): Json => {
  const isPublic = (key: string) => !/^(?:_|pvt_)/.test(key) && !computed.includes(key)
  const all = Object.fromEntries(Object.entries(fields).filter(([key]) => isPublic(key)))
  const older = e911Names.find((name) => all[name] !== undefined)
  if (older !== undefined) return { ...all, [older]: undefined, e911: all[older] }
  if (fields.pvt_type !== 'account') return all
  return { ...all, enabled: fields.pvt_enabled === undefined || isTrue(fields.pvt_enabled) }
}
