import { accountReadOnly } from '../../src/areas/accounts/accounts/schema.ts'
import { userReadOnly } from '../../src/areas/accounts/users/schema.ts'
import { callflowReadOnly } from '../../src/areas/voice/callflows/schema.ts'
import { connectivityReadOnly } from '../../src/areas/voice/connectivity/schema.ts'
import { deviceReadOnly } from '../../src/areas/voice/devices/schema.ts'
import { groupReadOnly } from '../../src/areas/voice/groups/schema.ts'
import { resourceReadOnly } from '../../src/areas/voice/resources/schema.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { maskSecrets } from '../../src/lib/secrets.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { isGone, rejectedIn, timesOf } from '../documents/fields.ts'
import type { RunStore } from '../import-run/store.ts'
import { databasesOf } from '../import-sections/section.ts'
import { type Comparison, changedSince, codesOf, reportOf } from './comparison.ts'
import type { FoundDifference } from './differences.ts'

// Compares source documents with API responses key by key. It uses no conversion of the import, so it finds
// their mistakes.

interface ComparedKind {
  path(id: string): string
  /**
   * Keys that either system computes, that only sign-in requests contain, or that only an operator sets
   * here.
   */
  computed: readonly string[]
}

const comparedKinds: Readonly<Record<string, ComparedKind>> = {
  account: { path: () => '', computed: [...accountReadOnly, 'trial_expires'] },
  user: { path: (id) => `/users/${id}`, computed: [...userReadOnly, 'password', 'credentials', 'sync'] },
  device: { path: (id) => `/devices/${id}`, computed: [...deviceReadOnly, 'sync'] },
  callflow: { path: (id) => `/callflows/${id}`, computed: callflowReadOnly },
  group: { path: (id) => `/groups/${id}`, computed: groupReadOnly },
  resource: { path: (id) => `/resources/${id}`, computed: resourceReadOnly },
  sys_info: { path: (id) => `/connectivity/${id}`, computed: connectivityReadOnly },
  whitelabel: { path: () => '/whitelabel', computed: ['id'] },
  limits: { path: () => '/limits', computed: ['id', 'allow_postpay', 'max_postpay_amount'] },
  // Bookkeepers belong to one system: the report lists those that must be chosen again.
  service_plan: { path: (id) => `/service_plans/${id}`, computed: ['id', 'bookkeeper', 'bookkeepers'] },
  number: {
    path: (number) => `/phone_numbers/${number}`,
    computed: ['id', 'state', 'used_by', 'features', 'created', 'modified'],
  },
}

type KeyDifference = Pick<FoundDifference, 'what' | 'there' | 'here'>

/** Names and addresses that are compared without case or separators. */
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

/** Older values and their current names. */
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

const valueAt = (value: unknown, key: string) =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key) ? value[key as never] : undefined

/** The member of the response with the same number as its key. */
const numberKeyed = (here: unknown, number: string) =>
  isObject(here) ? Object.entries(here).find(([key]) => isSameNumber(number, key))?.[1] : undefined

const keyDifferences = (there: Json, here: Json, { realms, rejected }: Compared): KeyDifference[] => {
  const found: KeyDifference[] = []

  const compareLists = (path: readonly string[], list: readonly unknown[], other: unknown) => {
    const isOfNumbers = path.length === 1 && path[0] === 'numbers'
    const others: readonly unknown[] = Array.isArray(other) ? other : []
    // The response has no rejected members.
    let position = 0
    for (const [index, item] of list.entries()) {
      const place = [...path, String(index)]
      const isRejected = Object.hasOwn(rejected, pathOf(place))
      const key = Array.isArray(other) ? position : index
      const same = isOfNumbers
        ? others.find((one) => isSameNumber(String(item), String(one)))
        : valueAt(isRejected && Array.isArray(other) ? undefined : other, String(key))
      if (!isRejected) position += 1
      if (!isOfNumbers || same === undefined) compare(place, item, same)
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
    if (!isSame) found.push({ what: pathOf(path), there: shown(key, one), here: shown(key, other) })
  }

  for (const [key, value] of Object.entries(there)) compare([key], value, valueAt(here, key))
  return found
}

const e911Names = ['dash_e911', 'vitelity_e911', 'telnyx_e911']

/** Public keys, with `enabled` and `e911` from their older forms. */
const publicKeys = (fields: Json, { computed }: ComparedKind): Json => {
  const isPublic = (key: string) => !/^(?:_|pvt_)/.test(key) && !computed.includes(key)
  const all = Object.fromEntries(Object.entries(fields).filter(([key]) => isPublic(key)))
  const older = e911Names.find((name) => all[name] !== undefined)
  if (older !== undefined) return { ...all, [older]: undefined, e911: all[older] }
  if (fields.pvt_type !== 'account') return all
  return { ...all, enabled: fields.pvt_enabled === undefined || isTrue(fields.pvt_enabled) }
}

type Found = Awaited<ReturnType<RunStore['findingsOf']>>

/** Codes about a complete document. */
const ofWhole: ReadonlySet<string> = new Set(['limits_superseded'])

/** Whether a finding is about a field, its parent or its member. */
const isAbout =
  (path: string) =>
  ({ field, code }: Found[number]) =>
    field === undefined
      ? ofWhole.has(code)
      : `${path}.`.startsWith(`${field}.`) || field.startsWith(`${path}.`) || path.split('.').includes(field)

/** Losing a field may disable a phone or a carrier. */
const explains = (path: string, findings: Found) =>
  path === 'enabled' ? findings : findings.filter(isAbout(path))

const typeOf = ({ pvt_type: type = 'number' }: Json) => String(type)

interface SourceRecord {
  accountId: string
  database: string
  id: string
  fields: Json
}

const reportOfType = async ({ run }: Comparison, type: string, place: SourceRecord) => {
  const { since, findings } = await reportOf(run, place)
  // Findings about the tree are stored with the copies of accounts.
  const copies = type === 'account' ? await run.findingsOf(copiesDatabase, place.id) : []
  return { since, findings: [...findings, ...copies] }
}

/** `realms`: those of the account, which records do not repeat. */
const compareOne = async (comparison: Comparison, record: SourceRecord, realms: readonly string[]) => {
  const { accountId, fields, id } = record
  const type = typeOf(fields)
  const kind = Object.hasOwn(comparedKinds, type) ? comparedKinds[type] : undefined
  if (!kind || isTrue(fields.pvt_deleted) || isTrue(fields._deleted)) return
  const place = { account_id: accountId, question: `${type}, key by key`, id }
  const add = (found: readonly FoundDifference[]) => comparison.add(place, 1, found)
  const response = await comparison.respond(`/v2/accounts/${accountId}${kind.path(encodeURIComponent(id))}`)
  if (!response) {
    const { since, findings } = await reportOfType(comparison, type, record)
    return add([{ what: 'missing', ...present({ why: since ?? (codesOf(findings) || undefined) }) }])
  }
  const rejected = rejectedIn(response.data)
  const differences = keyDifferences(publicKeys(fields, kind), response.data, { realms, rejected })
  if (differences.length === 0) return add([])
  const { modified } = response.metadata
  const { since, findings } = await reportOfType(comparison, type, record)
  const changed = typeof modified === 'number' ? changedSince(timesOf(fields).modified, modified) : since
  add(
    differences.map((difference) => {
      const why = changed ?? (codesOf(explains(difference.what, findings)) || undefined)
      return { ...difference, ...present({ why }) }
    }),
  )
}

async function* recordsIn(
  { facts }: Comparison,
  database: string,
  ownerOf: (fields: Json) => string | undefined,
): AsyncGenerator<SourceRecord> {
  if (!facts.kinds.has(database)) return
  for await (const { documents } of facts.source.pages(database))
    for (const { id, text, fields = JSON.parse(text) } of documents) {
      const accountId = ownerOf(fields)
      if (accountId !== undefined) yield { accountId, database, id, fields }
    }
}

export const compareKeysOfAccount = async (comparison: Comparison, accountId: string) => {
  const { plan, source } = comparison.facts
  const database = accountDatabase(accountId)
  const own = await source.document(database, accountId)
  const realms = [plan.accounts.get(accountId)?.realm, memberOf(JSON.parse(own?.text ?? '{}'), 'realm')]
  const folded = realms.map((realm) => String(realm).toLowerCase())
  const ownerOf = (fields: Json) => (typeOf(fields) === 'number' ? undefined : accountId)
  for await (const record of recordsIn(comparison, database, ownerOf))
    await compareOne(comparison, record, folded)
}

export const compareKeysOfNumbers = async (comparison: Comparison) => {
  const accountIds = new Set(comparison.accountIds)
  const ownerOf = (fields: Json) => {
    const owner = String(fields.pvt_assigned_to)
    return typeOf(fields) === 'number' && !isGone(fields) && accountIds.has(owner) ? owner : undefined
  }
  for (const database of databasesOf(comparison.facts, 'numbers'))
    for await (const record of recordsIn(comparison, database, ownerOf))
      await compareOne(comparison, record, [])
}
