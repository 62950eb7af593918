import { isObject } from '../../../lib/json.ts'
import type { numberStates } from './schema.ts'

export type NumberState = (typeof numberStates)[number]

/** The state of a number that is not stored. */
export const absent = '(none)'
export type StateBefore = NumberState | typeof absent

export type TargetState = 'in_service' | 'reserved' | 'available' | 'aging' | 'port_in'

/**
 * Who may change the state: `creator`: the account may create numbers in that state; `authorised`: the
 * operator, the owner and its parent accounts (without an owner: the account that gets the number); `family`:
 * these, and the sub-accounts of the owner, because a reseller's reserve is for its customers; `anyone`: every
 * account, for itself and its sub-accounts.
 */
type Who = 'creator' | 'operator' | 'authorised' | 'family' | 'anyone'

export interface Transition {
  who: Who
  /** Ordered from its carrier first. */
  order?: true
  remember?: true
  /** `kept`: only the public fields change. */
  sameOwner?: 'kept' | 'refused'
}

const creation = { who: 'creator' } as const

/** From -> to. Absent transitions are invalid. */
export const moves: Readonly<Record<StateBefore, Readonly<Partial<Record<TargetState, Transition>>>>> = {
  [absent]: {
    in_service: creation,
    reserved: { who: 'creator', remember: true },
    available: creation,
    aging: creation,
    port_in: creation,
  },
  discovery: {
    in_service: { who: 'authorised', order: true },
    reserved: { who: 'authorised', order: true, remember: true },
  },
  available: {
    in_service: { who: 'anyone' },
    reserved: { who: 'authorised', remember: true },
    available: { who: 'operator' },
    aging: { who: 'operator' },
  },
  aging: {
    in_service: { who: 'anyone' },
    aging: { who: 'operator' },
  },
  port_in: {
    in_service: { who: 'authorised' },
    port_in: { who: 'authorised' },
  },
  reserved: {
    in_service: { who: 'family' },
    reserved: { who: 'authorised', remember: true, sameOwner: 'refused' },
  },
  in_service: {
    in_service: { who: 'authorised', sameOwner: 'kept' },
    reserved: { who: 'authorised', remember: true },
  },
  released: { aging: { who: 'operator' } },
  port_out: {},
  deleted: {},
}

/** States of numbers that PUT takes over. Others already exist. */
export const takenOverByCreation: ReadonlySet<NumberState> = new Set(['aging', 'available', 'port_in'])

/** Carrier of numbers of mobile devices. */
export const mobileCarrier = 'knm_mdn'
export const localCarrier = 'knm_local'

export const isLocal = (carrier: string) => carrier === localCarrier || carrier === mobileCarrier

const releasable: ReadonlySet<NumberState> = new Set(['in_service', 'reserved', 'port_in', 'released'])

/** An available number is already released. */
export const isReleasable = (state: NumberState, carrier: string) =>
  releasable.has(state) || (carrier === localCarrier && state !== 'available')

export interface Rights {
  isOperator: boolean
  /** The account flag `wnm_allow_additions`. */
  allowsAdditions: boolean
}

/** `usable_creation_states` of `carriers_info`. */
export const creationStates = ({ isOperator, allowsAdditions }: Rights): readonly TargetState[] => {
  if (isOperator) return ['aging', 'available', 'in_service', 'port_in', 'reserved']
  return allowsAdditions ? ['in_service', 'reserved'] : []
}

/** Why an account may not create a number in a state. Every account may create ports. */
export const creationRefusal = (accountId: string, state: string, rights: Rights): string | undefined => {
  if (state === 'port_in') return undefined
  const states: readonly string[] = creationStates(rights)
  if (states.includes(state)) return undefined
  return changeRefusal(accountId, rights, 'create') ?? `creating number in state '${state}' is not allowed`
}

/** Why an account may neither change numbers nor take over existing ones. */
export const changeRefusal = (
  accountId: string,
  { isOperator, allowsAdditions }: Rights,
  verb: 'change' | 'create',
): string | undefined =>
  isOperator || allowsAdditions ? undefined : `account ${accountId} is not allowed to ${verb} numbers`

export interface CallerRights {
  isOperator: boolean
  isAboveOwner: boolean
  isBelowOwner: boolean
  isAboveTarget: boolean
}

interface Held {
  state: NumberState
  accountId: string
}

const isAuthorised = ({ accountId }: Held, { isOperator, isAboveOwner, isAboveTarget }: CallerRights) =>
  isOperator || (accountId === '' ? isAboveTarget : isAboveOwner)

/** Whether the caller may know that the number exists. */
export const maySee = (number: Held, standing: CallerRights) =>
  number.state === 'available' ||
  isAuthorised(number, standing) ||
  (number.state === 'reserved' && standing.isBelowOwner)

export const mayMove = (who: Exclude<Who, 'creator'>, number: Held, standing: CallerRights) => {
  if (who === 'operator') return standing.isOperator
  if (isAuthorised(number, standing)) return true
  return who === 'anyone' || (who === 'family' && standing.isBelowOwner)
}

export const remembered = (history: readonly string[], accountId: string) =>
  history[0] === accountId ? [...history] : [accountId, ...history]

interface ReleaseSettings {
  released_state: NumberState
  should_age: boolean
  should_permanently_delete: boolean
}

type ReleaseResult =
  | { outcome: 'returned'; accountId: string; history: string[] }
  | { outcome: 'removed' }
  | { outcome: 'freed'; state: NumberState }

/** To an earlier holder, out of the inventory, or back into it. */
export const releaseOf = (
  carrier: string,
  /** Earlier holders that still exist, the latest first. */
  earlier: readonly string[],
  { released_state: released, should_age, should_permanently_delete }: ReleaseSettings,
): ReleaseResult => {
  const [previous] = earlier
  if (previous !== undefined) return { outcome: 'returned', accountId: previous, history: [...earlier] }
  if (should_permanently_delete || carrier === mobileCarrier) return { outcome: 'removed' }
  return { outcome: 'freed', state: should_age && released === 'available' ? 'aging' : released }
}

/** Fields of a request that are not stored. */
export const notStored = [
  'id',
  'state',
  'used_by',
  'features',
  'create_with_state',
  'carrier_name',
  'features_allowed',
  'features_denied',
]

/** The tie to a mobile device stays. */
export const publicFields = (
  sent: Readonly<Record<string, unknown>>,
  kept: { mobile?: unknown },
): Record<string, unknown> => {
  const fields: Record<string, unknown> = { ...sent }
  for (const key of notStored) delete fields[key]
  if (kept.mobile !== undefined) fields.mobile = kept.mobile
  return fields
}

/** Accounts that had reserved the number before its owner, the latest first. */
export const earlierHolders = (history: readonly string[], ownerId: string) => {
  const first = history.findIndex((accountId) => accountId !== ownerId)
  return first < 0 ? [] : history.slice(first)
}

type Json = Readonly<Record<string, unknown>>

const ownFeatures = ['failover', 'force_outbound', 'prepend', 'ringback'] as const
/** Features that need a carrier or a provider. */
const externalFeatures = ['cnam', 'e911', 'inbound_cnam', 'mms', 'outbound_cnam', 'port', 'sms'] as const

/** A feature of numbers without an external carrier. Users cannot switch it on. */
export const localFeature = 'local'
const carrierFeature = 'carrier_name'

const allFeatures: readonly string[] = [carrierFeature, ...externalFeatures, ...ownFeatures]

/** Old installations list provider names. */
const meaningOf = (name: string) => {
  if (name.endsWith('_e911')) return 'e911'
  if (name.endsWith('_cnam') && !name.startsWith('inbound') && !name.startsWith('outbound')) return 'cnam'
  if (name === 'cnam_notifier') return 'cnam'
  return name === 'port_notifier' ? 'port' : name
}

export interface FeatureContext {
  isOperator: boolean
  accountId: string
  state: NumberState
  usedBy: string
  isLocal: boolean
  /** Lists of the number; empty ones are ignored. */
  ownAllowed: readonly string[]
  ownDenied: readonly string[]
  /** Lists of the account, or of the system for numbers without owner. */
  allowed: readonly string[] | undefined
  denied: readonly string[] | undefined
  localOverride: boolean
  /** The carrier carries messages and the account's plans allow them. */
  carriesSms: boolean
  carriesMms: boolean
}

const deniedOf = (context: FeatureContext): readonly string[] => {
  const { ownDenied, accountId, denied, isLocal, localOverride, usedBy } = context
  if (ownDenied.length > 0) return ownDenied
  const standard = isLocal && !localOverride ? externalFeatures : []
  const byPlace = accountId === '' ? externalFeatures : (denied ?? standard)
  return usedBy === 'trunkstore' ? byPlace : [...byPlace, 'failover']
}

const isServed = (feature: string, context: FeatureContext) => {
  if (feature === carrierFeature) return context.isOperator
  const carries = { sms: context.carriesSms, mms: context.carriesMms }[feature]
  return carries === undefined || (carries && context.accountId !== '' && context.state === 'in_service')
}

/** Sorted. */
export const availableFeatures = (context: FeatureContext): string[] => {
  const { ownAllowed, allowed = allFeatures } = context
  const denied = new Set(deniedOf(context).map(meaningOf))
  const named = new Set((ownAllowed.length > 0 ? ownAllowed : allowed).map(meaningOf))
  return [...named].filter((feature) => !denied.has(feature) && isServed(feature, context)).sort()
}

const isAvailable = (available: readonly string[], feature: string) =>
  available.includes(feature) || (feature.endsWith('_cnam') && available.includes('cnam'))

export const fieldsOfFeatures = ['cnam', 'e911', 'port', ...ownFeatures, 'sms', 'mms'] as const
const featureFields: ReadonlySet<string> = new Set(fieldsOfFeatures)

export const asksForFeatures = (doc: Json) => fieldsOfFeatures.some((field) => Object.hasOwn(doc, field))

export const refusedFeature = (doc: Json, available: readonly string[]): string | undefined =>
  fieldsOfFeatures.find((field) => Object.hasOwn(doc, field) && !isAvailable(available, field))

export const withoutRefused = (doc: Json, available: readonly string[]): Json =>
  Object.fromEntries(
    Object.entries(doc).filter(([field]) => !featureFields.has(field) || isAvailable(available, field)),
  )

const whenEnabled = (value: unknown) => (isObject(value) && value.enabled === true ? value : undefined)
const whenFilled = (value: unknown) => (isObject(value) && Object.keys(value).length > 0 ? value : undefined)

const outboundName = ({ cnam }: Json) => {
  const name = isObject(cnam) ? cnam.display_name : undefined
  return typeof name === 'string' ? { display_name: name } : undefined
}

const inboundLookup = ({ cnam }: Json) =>
  isObject(cnam) && cnam.inbound_lookup === true ? { inbound_lookup: true } : undefined

interface FeatureRule {
  feature: string
  states: ReadonlySet<NumberState>
  /** The feature's data in the public fields; undefined: not requested. */
  data(doc: Json): unknown
}

const heldStates: ReadonlySet<NumberState> = new Set(['reserved', 'in_service', 'port_in'])
const servingStates: ReadonlySet<NumberState> = new Set(['in_service'])
const portingStates: ReadonlySet<NumberState> = new Set(['port_in'])

const activations: readonly FeatureRule[] = [
  { feature: 'outbound_cnam', states: heldStates, data: outboundName },
  { feature: 'inbound_cnam', states: heldStates, data: inboundLookup },
  { feature: 'e911', states: heldStates, data: ({ e911 }) => whenFilled(e911) },
  { feature: 'prepend', states: servingStates, data: ({ prepend }) => whenEnabled(prepend) },
  { feature: 'failover', states: servingStates, data: ({ failover }) => whenFilled(failover) },
  {
    feature: 'force_outbound',
    states: servingStates,
    data: ({ force_outbound: force }) => (typeof force === 'boolean' ? force : undefined),
  },
  { feature: 'ringback', states: servingStates, data: ({ ringback }) => whenFilled(ringback) },
  { feature: 'sms', states: servingStates, data: ({ sms }) => whenEnabled(sms) },
  { feature: 'mms', states: servingStates, data: ({ mms }) => whenEnabled(mms) },
  { feature: 'port', states: portingStates, data: ({ port }) => whenFilled(port) },
]

/** Feature -> data: the active features. */
export const activeFeatures = (
  doc: Json,
  number: { state: NumberState; isLocal: boolean; available: readonly string[] },
): Record<string, unknown> => {
  const features: Record<string, unknown> = number.isLocal ? { [localFeature]: {} } : {}
  for (const { feature, states, data } of activations) {
    if (!states.has(number.state) || !isAvailable(number.available, feature)) continue
    const value = data(doc)
    if (value !== undefined) features[feature] = value
  }
  return features
}

/** Features that affect calls. */
export const callFeatures = (features: Json): Json =>
  Object.fromEntries(ownFeatures.flatMap((name) => (name in features ? [[name, features[name]]] : [])))

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false }

/** Old clients send texts for booleans; other texts are dropped. */
export const tidyFields = (fields: Json): Json => {
  const { force_outbound: force, ...rest } = fields
  const known = typeof force === 'string' ? booleans[force] : force
  return typeof known === 'boolean' ? { ...rest, force_outbound: known } : rest
}

// Emergency addresses are only stored.
const noProvider = 'none'

export const featureSettings = (features: Json): Json => {
  const settings: Record<string, unknown> = features.e911 ? { e911: { provider: noProvider } } : {}
  for (const name of ['sms', 'mms']) {
    const data = features[name]
    if (!isObject(data)) continue
    settings[name] = {
      enabled: true,
      ...(data.activation === undefined ? {} : { activation: data.activation }),
    }
  }
  return settings
}

/** Shown to emergency services by default: at least three characters. */
export const callerNameOf = (accountName: string | undefined) =>
  accountName ? accountName.padEnd(3) : 'Valued Customer'
