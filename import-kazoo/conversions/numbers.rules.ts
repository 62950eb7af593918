import type { NumberState } from '../../src/areas/numbers/phone-numbers/rules.ts'
import {
  fieldsOfFeatures,
  isLocal,
  localCarrier,
  notStored,
} from '../../src/areas/numbers/phone-numbers/rules.ts'
import { numberStates } from '../../src/areas/numbers/phone-numbers/schema.ts'
import { isE164, normalizeNumber } from '../../src/lib/e164.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone, listIn, publicPart, textIn } from '../documents/fields.ts'
import { type ExportedDocument, exportedNumber, type OwnRecord } from '../export/document.ts'
import { type Conversion, conversionOf, converted, draftOf, finding } from './findings.ts'
import { preserveDocument } from './preserved.rules.ts'
import { fieldOf, object, objectIn, readFields, text, writeFields } from './tables.ts'

export type Use = 'callflow' | 'trunkstore'

export interface NumberUses {
  of(accountId: string, number: string): readonly Use[]
}

export interface PortedNumber {
  accountId: string
  porting: Json
}

export interface NumberContext {
  accounts: { has(accountId: string): boolean }
  systemId: string
  uses: NumberUses
  ports: ReadonlyMap<string, PortedNumber>
  pools: ReadonlyMap<string, string>
}

/** May be an unknown state. */
export const stateTextOf = (fields: Json) =>
  textIn(fields, 'pvt_state') ?? textIn(fields, 'pvt_number_state') ?? textIn(fields, 'state')

export const todaysCarrier = (name: string) =>
  name.replace(/^wnm_/, 'knm_').replace(/^knm_bandwidth$/, 'knm_bandwidth2')

const addressNames = ['dash_e911', 'vitelity_e911', 'telnyx_e911']

const todaysName = (name: string) => (addressNames.includes(name) ? 'e911' : name)

/** The newer of two names takes precedence. */
const renamed = (fields: Json): Json => {
  const { true: older = [], false: others = [] } = Object.groupBy(
    Object.entries(fields),
    ([name]) => `${addressNames.includes(name)}`,
  )
  return Object.fromEntries([...older, ...others].map(([name, value]) => [todaysName(name), value]))
}

// Computed fields, and fields of requests only.
const echoes = [...notStored, 'number_state', 'features_available', 'assigned_to', 'created', 'updated']

const publicFieldsOf = (fields: Json): Json => {
  const { force_outbound: force, ...others } = renamed(publicPart(fields, echoes))
  const isClear = typeof force === 'boolean' || force === 'true' || force === 'false'
  return isClear ? { ...others, force_outbound: isTrue(force) } : others
}

// Fields of the owner, which go with the owner.
const ownersFields = [...fieldsOfFeatures, 'mobile', 'porting']

/** Data of features that older documents only name. */
const dataFor = (feature: string, doc: Json): Json => {
  const name = textIn(doc, 'cnam', 'display_name')
  const [outbound, inbound] = [{ outbound_cnam: present({ display_name: name }) }, { inbound_lookup: true }]
  if (feature === 'outbound_cnam') return outbound
  if (feature === 'inbound_cnam') return { inbound_cnam: inbound }
  if (feature === 'force_outbound') return { force_outbound: doc.force_outbound === true }
  if (feature === 'cnam')
    return {
      ...(name === undefined ? {} : outbound),
      ...(isTrue(memberOf(doc, 'cnam', 'inbound_lookup')) ? { inbound_cnam: inbound } : {}),
    }
  return { [feature]: objectIn(doc, feature) ?? {} }
}

const featureNames = fieldOf((fields, key) => {
  const names = listIn(fields[key]).filter((one) => typeof one === 'string')
  return names.length > 0 ? names.map(todaysName) : undefined
})

/** `local` marks numbers of local carriers; older documents lack it. */
const featuresOf = (fields: Json, doc: Json, carrier: string): Json => {
  const { pvt_features: stored } = fields
  const data = listIn(stored).map((name) => (typeof name === 'string' ? dataFor(todaysName(name), doc) : {}))
  const { local = {}, ...others } = isObject(stored) ? renamed(stored) : Object.assign({}, ...data)
  return isLocal(carrier) ? { local, ...others } : others
}

export const numberFields = [
  featureNames('featuresAllowed', 'pvt_features_allowed'),
  featureNames('featuresDenied', 'pvt_features_denied'),
  object('carrierData', 'pvt_carrier_data'),
  fieldOf((fields, key) => isTrue(fields[key]) || undefined)('portedIn', 'pvt_ported_in'),
  text('region', 'pvt_region'),
  object('locality', 'pvt_locality'),
]

export const numberOf = (id: string): string | undefined => {
  const number = normalizeNumber(id.replace(/[\s().-]/g, ''))
  return isE164(number) ? number : undefined
}

const shardLength = 5

/** A number is in the database of its first five characters; accounts have copies. */
export const shardOf = (number: string) => `numbers/${number.slice(0, shardLength)}`

// States in which a number has an owner.
const owned: ReadonlySet<NumberState> = new Set(['in_service', 'port_in', 'port_out', 'reserved'])

interface Holding {
  state: NumberState
  /** Empty if it has no owner. */
  accountId: string
  previouslyAssignedTo: string | undefined
  /** The owner is gone: none of its fields stay. */
  isLeft: boolean
}

type NumberConversion = Conversion<NumberContext & { number: string; port: PortedNumber | undefined }>

const holdingOf = ({ fields, accounts, repaired }: NumberConversion, state: NumberState): Holding => {
  const owner = textIn(fields, 'pvt_assigned_to')
  const previouslyAssignedTo = textIn(fields, 'pvt_previously_assigned_to')
  const isOwned = owned.has(state)
  if (owner === undefined) {
    const free = state === 'in_service' || state === 'reserved' ? 'available' : state
    if (isOwned)
      repaired('number_without_owner', { field: 'pvt_state', old: state, new: free === state ? '' : free })
    return { state: free, accountId: '', previouslyAssignedTo, isLeft: false }
  }
  if (isOwned && accounts.has(owner)) return { state, accountId: owner, previouslyAssignedTo, isLeft: false }
  const free = !isOwned ? state : state === 'reserved' ? 'available' : 'aging'
  const code = isOwned ? 'number_owner_gone' : 'number_owner_dropped'
  repaired(code, { field: 'pvt_assigned_to', old: owner, new: isOwned ? free : '' })
  return { state: free, accountId: '', previouslyAssignedTo: owner, isLeft: true }
}

/** A ported number belongs to its new account unless another account has it. */
const withPort = (holding: Holding, { port, needsHand, repaired }: NumberConversion): Holding => {
  if (!port) return holding
  const { accountId, state } = holding
  if (accountId !== '' && accountId !== port.accountId) {
    const details = { field: 'pvt_assigned_to', old: accountId, new: port.accountId }
    needsHand('port_number_of_another', details)
    return holding
  }
  if (state !== 'port_in') repaired('number_in_port', { field: 'pvt_state', old: state, new: 'port_in' })
  return { ...holding, state: 'port_in', accountId: port.accountId, isLeft: false }
}

const docOf = ({ fields, port }: NumberConversion, { accountId, state, isLeft }: Holding): Json => {
  if (isLeft) return {}
  const doc = publicFieldsOf(fields)
  if (accountId === '') return publicPart(doc, ownersFields)
  // The number's own fields take precedence.
  return state === 'port_in' && port
    ? { ...doc, porting: { ...port.porting, ...(doc.porting as Json | undefined) } }
    : doc
}

/** What the owner gives a number. Its actual use takes precedence over the stated one. */
const ownedPart = (
  { fields, number, accounts, uses, repaired }: NumberConversion,
  accountId: string,
  doc: Json,
) => {
  if (accountId === '') return { usedBy: '', reserveHistory: undefined, deviceId: undefined }
  const { pvt_reserve_history: stored } = fields
  const history = listIn(stored).filter((id) => typeof id === 'string' && accounts.has(id))
  const deviceId = textIn(doc, 'mobile', 'device-id')
  const actual: readonly string[] = uses.of(accountId, number)
  const old = textIn(fields, 'pvt_used_by') ?? textIn(fields, 'used_by') ?? ''
  const other = deviceId === undefined ? '' : 'mobile'
  const usedBy = actual.find((use) => use === old) ?? actual[0] ?? other
  if (usedBy !== old) repaired('number_use_differs', { field: 'pvt_used_by', old, new: usedBy })
  return { usedBy, reserveHistory: history.length > 0 ? history : undefined, deviceId }
}

const numberDraft = (conversion: NumberConversion, holding: Holding) => {
  const { id, fields, number, pools } = conversion
  const { accountId, state, previouslyAssignedTo } = holding
  const carrier = todaysCarrier(textIn(fields, 'pvt_module_name') ?? localCarrier)
  const doc = docOf(conversion, holding)
  const { usedBy, reserveHistory, deviceId } = ownedPart(conversion, accountId, doc)
  const { carrierData, ...plain } = readFields(numberFields, fields, conversion)
  const pool = pools.get(number)
  const hidden = present({
    ...plain,
    features: featuresOf(accountId === '' ? {} : fields, doc, carrier),
    reserveHistory,
    previouslyAssignedTo,
    carrierData: pool === undefined ? carrierData : { ...(carrierData as Json | undefined), pool },
    deviceId,
  })
  // A number under another id gives way to one under its own id.
  const as = number === id ? 'number' : 'number_by_hearsay'
  return draftOf(conversion, as, accountId, { id: number, doc, facts: { state, carrier, usedBy, hidden } })
}

/** A number that cannot be imported is preserved. */
export const preserveNumber = (
  document: KazooDocument,
  { systemId }: Pick<NumberContext, 'systemId'>,
  code: string,
  [field, old]: readonly [field: string, old: string],
) =>
  preserveDocument(document, systemId, { findings: [finding(document, 'needs_hand', code, { field, old })] })

export const convertNumber = (document: KazooDocument, context: NumberContext): Converted => {
  const { id, type, fields, rev, conflicts } = document
  const stated = stateTextOf(fields)
  if ((type !== 'number' && type !== '') || isGone(fields) || stated === 'discovery')
    return converted(document, 'skipped')
  const number = numberOf(id)
  if (number === undefined) return preserveNumber(document, context, 'number_unreadable', ['_id', id])
  const known = numberStates.find((state) => state === stated)
  if (!known) return preserveNumber(document, context, 'number_state_unknown', ['pvt_state', stated ?? ''])
  const conversion = conversionOf(document, { ...context, number, port: context.ports.get(number) })
  const { repaired, findings } = conversion
  if (conflicts.length > 0)
    repaired('conflicting_revisions', { field: '_rev', old: conflicts.join(' '), new: rev })
  if (id !== number) repaired('number_normalised', { field: '_id', old: id, new: number })
  const holding = withPort(holdingOf(conversion, known), conversion)
  const { accountId, state } = holding
  return accountId === '' && (state === 'port_in' || state === 'port_out')
    ? preserveNumber(document, context, 'number_without_owner', ['pvt_state', state])
    : converted(document, 'imported', { drafts: [numberDraft(conversion, holding)], findings })
}

/** Used if the number's database is missing. */
export const convertCopy = (
  document: KazooDocument,
  accountId: string,
  context: NumberContext,
): Converted => {
  const { id, database, fields } = document
  const number = numberOf(id)
  if (number === undefined || isGone(fields) || stateTextOf(fields) === 'discovery')
    return converted(document, 'skipped')
  const assigned = textIn(fields, 'pvt_assigned_to') ?? accountId
  const taken = convertNumber({ ...document, fields: { ...fields, pvt_assigned_to: assigned } }, context)
  const details = { field: '_id', old: shardOf(number), new: database }
  return {
    ...taken,
    document,
    drafts: taken.drafts.map((draft) => ({ ...draft, as: 'number_by_hearsay' })),
    findings: [finding(document, 'repaired', 'number_from_copy', details), ...taken.findings],
  }
}

interface NumberFacts {
  state: string
  carrier: string
  usedBy: string
}

/** Transient states, which are not exported. */
export const isPassing = ({ state }: Pick<NumberFacts, 'state'>) =>
  state === 'deleted' || state === 'discovery'

export const exportNumber = (
  { id, accountId, created, modified, doc, hidden }: OwnRecord,
  { state, carrier, usedBy }: NumberFacts,
): ExportedDocument[] => {
  const place = { database: shardOf(id), id, fields: publicPart(doc, ['id']) }
  const own = exportedNumber('number', place, {
    pvt_created: created,
    pvt_modified: modified,
    pvt_vsn: '1',
    pvt_state: state,
    pvt_module_name: carrier,
    pvt_assigned_to: accountId || undefined,
    pvt_used_by: usedBy || undefined,
    pvt_features: hidden.features,
    pvt_reserve_history: hidden.reserveHistory,
    pvt_previously_assigned_to: hidden.previouslyAssignedTo,
    ...writeFields(numberFields, hidden),
  })
  const copy = { ...own, database: accountDatabase(accountId), type: 'number (copy)' }
  return accountId === '' ? [own] : [own, copy]
}
