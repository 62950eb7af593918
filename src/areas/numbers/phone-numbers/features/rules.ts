import { isObject } from '../../../../lib/json.ts'
import type { NumberState } from '../rules.ts'

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

const allowedOf = ({ ownAllowed, allowed }: FeatureContext) => {
  if (ownAllowed.length > 0) return ownAllowed
  return allowed ?? allFeatures
}

const deniedByPlace = ({ accountId, denied, isLocal, localOverride }: FeatureContext): readonly string[] => {
  if (accountId === '') return externalFeatures
  return denied ?? (isLocal && !localOverride ? externalFeatures : [])
}

const deniedOf = (context: FeatureContext): readonly string[] => {
  if (context.ownDenied.length > 0) return context.ownDenied
  const failover = context.usedBy === 'trunkstore' ? [] : ['failover']
  return [...deniedByPlace(context), ...failover]
}

const isServed = (feature: string, context: FeatureContext) => {
  if (feature === carrierFeature) return context.isOperator
  const carries = { sms: context.carriesSms, mms: context.carriesMms }[feature]
  return carries === undefined || (carries && context.accountId !== '' && context.state === 'in_service')
}

/** Sorted. */
export const availableFeatures = (context: FeatureContext): string[] => {
  const denied = new Set(deniedOf(context).map(meaningOf))
  const allowed = new Set(allowedOf(context).map(meaningOf))
  return [...allowed].filter((feature) => !denied.has(feature) && isServed(feature, context)).sort()
}

const isAvailable = (available: readonly string[], feature: string) =>
  available.includes(feature) || (feature.endsWith('_cnam') && available.includes('cnam'))

const fieldsOfFeatures = ['cnam', 'e911', 'port', ...ownFeatures, 'sms', 'mms'] as const
const featureFields: ReadonlySet<string> = new Set(fieldsOfFeatures)

export const asksForFeatures = (doc: Json) => fieldsOfFeatures.some((field) => Object.hasOwn(doc, field))

export const refusedFeature = (doc: Json, available: readonly string[]): string | undefined =>
  fieldsOfFeatures.find((field) => Object.hasOwn(doc, field) && !isAvailable(available, field))

export const withoutRefused = (doc: Json, available: readonly string[]): Json =>
  Object.fromEntries(
    Object.entries(doc).filter(([field]) => !featureFields.has(field) || isAvailable(available, field)),
  )

const isFilled = (value: unknown) => isObject(value) && Object.keys(value).length > 0

const whenEnabled = (value: unknown) => (isObject(value) && value.enabled === true ? value : undefined)
const whenFilled = (value: unknown) => (isFilled(value) ? value : undefined)

const outboundName = ({ cnam }: Json) => {
  const name = isObject(cnam) ? cnam.display_name : undefined
  return typeof name === 'string' ? { display_name: name } : undefined
}

const inboundLookup = ({ cnam }: Json) =>
  isObject(cnam) && cnam.inbound_lookup === true ? { inbound_lookup: true } : undefined

interface Activation {
  feature: string
  states: ReadonlySet<NumberState>
  /** The feature's data in the public fields; undefined: not requested. */
  data(doc: Json): unknown
}

const held: ReadonlySet<NumberState> = new Set(['reserved', 'in_service', 'port_in'])
const serving: ReadonlySet<NumberState> = new Set(['in_service'])
const porting: ReadonlySet<NumberState> = new Set(['port_in'])

const activations: readonly Activation[] = [
  { feature: 'outbound_cnam', states: held, data: outboundName },
  { feature: 'inbound_cnam', states: held, data: inboundLookup },
  { feature: 'e911', states: held, data: ({ e911 }) => whenFilled(e911) },
  { feature: 'prepend', states: serving, data: ({ prepend }) => whenEnabled(prepend) },
  { feature: 'failover', states: serving, data: ({ failover }) => whenFilled(failover) },
  {
    feature: 'force_outbound',
    states: serving,
    data: ({ force_outbound: force }) => (typeof force === 'boolean' ? force : undefined),
  },
  { feature: 'ringback', states: serving, data: ({ ringback }) => whenFilled(ringback) },
  { feature: 'sms', states: serving, data: ({ sms }) => whenEnabled(sms) },
  { feature: 'mms', states: serving, data: ({ mms }) => whenEnabled(mms) },
  { feature: 'port', states: porting, data: ({ port }) => whenFilled(port) },
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

export const featureSettings = (features: Json, provider: { name: string }): Json => {
  const settings: Record<string, unknown> = features.e911 ? { e911: { provider: provider.name } } : {}
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
