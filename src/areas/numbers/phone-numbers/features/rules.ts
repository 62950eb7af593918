// What numbers can do, which numbers may, and when it is switched on.
import { isObject } from '../../../../lib/json.ts'
import type { NumberState } from '../rules.ts'

type Json = Readonly<Record<string, unknown>>

const ownFeatures = ['failover', 'force_outbound', 'prepend', 'ringback'] as const
/** What somebody outside has to do something for. */
const externalFeatures = ['cnam', 'e911', 'inbound_cnam', 'mms', 'outbound_cnam', 'port', 'sms'] as const

/** The feature of numbers that no carrier is asked for. It comes with the carrier; nobody switches it on. */
export const localFeature = 'local'
const carrierFeature = 'carrier_name'

const allFeatures: readonly string[] = [carrierFeature, ...externalFeatures, ...ownFeatures]

/** Names of providers, as older installations list them, mean what the provider does. */
const meaningOf = (name: string) => {
  if (name.endsWith('_e911')) return 'e911'
  if (name.endsWith('_cnam') && !name.startsWith('inbound') && !name.startsWith('outbound')) return 'cnam'
  if (name === 'cnam_notifier') return 'cnam'
  return name === 'port_notifier' ? 'port' : name
}

/** What of a number and its surroundings decides which features it may have. */
export interface FeatureContext {
  isOperator: boolean
  accountId: string
  state: NumberState
  usedBy: string
  isLocal: boolean
  /** Lists of the number itself: empty ones do not count. */
  ownAllowed: readonly string[]
  ownDenied: readonly string[]
  /** Lists that hold for the account, or for the system when nobody owns the number. */
  allowed: readonly string[] | undefined
  denied: readonly string[] | undefined
  localOverride: boolean
  /** Whether the carrier passes on messages, and the plans of the account let it. */
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

/** The features that a number may have, sorted. */
export const availableFeatures = (context: FeatureContext): string[] => {
  const denied = new Set(deniedOf(context).map(meaningOf))
  const allowed = new Set(allowedOf(context).map(meaningOf))
  return [...allowed].filter((feature) => !denied.has(feature) && isServed(feature, context)).sort()
}

/** Whether a public field may stand on a number that has these features available. */
const isAvailable = (available: readonly string[], feature: string) =>
  available.includes(feature) || (feature.endsWith('_cnam') && available.includes('cnam'))

const fieldsOfFeatures = ['cnam', 'e911', 'port', ...ownFeatures, 'sms', 'mms'] as const
const featureFields: ReadonlySet<string> = new Set(fieldsOfFeatures)

/** Whether any of the public fields asks for a feature. */
export const asksForFeatures = (doc: Json) => fieldsOfFeatures.some((field) => Object.hasOwn(doc, field))

/** The first feature that the public fields ask for and the number may not have. */
export const refusedFeature = (doc: Json, available: readonly string[]): string | undefined =>
  fieldsOfFeatures.find((field) => Object.hasOwn(doc, field) && !isAvailable(available, field))

/** The public fields without those that ask for what the number may not have. */
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
  /** The feature's data, as the public fields ask for it; undefined: not at all. */
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

/** Feature -> data: what is on, for a number with these public fields in this state. */
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

/** The data of those features that whoever routes the calls of a number has to know. */
export const callFeatures = (features: Json): Json =>
  Object.fromEntries(ownFeatures.flatMap((name) => (name in features ? [[name, features[name]]] : [])))

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false }

/** Public fields as they are stored: texts for booleans where old clients send them; what is neither is left out. */
export const tidyFields = (fields: Json): Json => {
  const { force_outbound: force, ...rest } = fields
  const known = typeof force === 'string' ? booleans[force] : force
  return typeof known === 'boolean' ? { ...rest, force_outbound: known } : rest
}

/** What clients are told of features that have settings of their own. */
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

/** The name that emergency services see when none is given: at least three characters. */
export const callerNameOf = (accountName: string | undefined) =>
  accountName ? accountName.padEnd(3) : 'Valued Customer'
