// How documents of numbers were written by the generations of Kazoo, brought into one form.

import { isLocal, type NumberState } from '../../../src/areas/numbers/phone-numbers/rules.ts'
import { numberStates } from '../../../src/areas/numbers/phone-numbers/schema.ts'
import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { memberOf } from '../../../src/lib/member.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { fieldOf, object, text } from '../tables.ts'

const localCarrier = 'knm_local'

/** The state that a document contains, even if there is no such state. */
export const stateTextOf = (fields: Json) =>
  textIn(fields, 'pvt_state') ?? textIn(fields, 'pvt_number_state') ?? textIn(fields, 'state')

export const knownState = (name: string | undefined): NumberState | undefined =>
  numberStates.find((state) => state === name)

/** The carrier under the name of today. */
export const carrierOf = (fields: Json): string => {
  const name = (textIn(fields, 'pvt_module_name') ?? localCarrier).replace(/^wnm_/, 'knm_')
  return name === 'knm_bandwidth' ? 'knm_bandwidth2' : name
}

const addressNames = ['dash_e911', 'vitelity_e911', 'telnyx_e911']

/** The feature, or the public field of a feature, under the name of today. */
const todaysName = (name: string) => (addressNames.includes(name) ? 'e911' : name)

/** Where an older and a newer name mean the same, the newer one tells. */
const renamed = (fields: Json): Json =>
  Object.fromEntries(
    [
      ...Object.entries(fields).filter(([name]) => addressNames.includes(name)),
      ...Object.entries(fields).filter(([name]) => !addressNames.includes(name)),
    ].map(([name, value]) => [todaysName(name), value]),
  )

// What a number says of itself beside its private fields, and what only requests say.
const echoes = [
  'id',
  'state',
  'number_state',
  'used_by',
  'features',
  'features_available',
  'features_allowed',
  'features_denied',
  'assigned_to',
  'created',
  'updated',
  'carrier_name',
  'create_with_state',
]

const withoutUnclear = (fields: Json): Json => {
  const { force_outbound: force, ...others } = fields
  if (force === undefined) return others
  const isClear = typeof force === 'boolean' || force === 'true' || force === 'false'
  return isClear ? { ...others, force_outbound: isTrue(force) } : others
}

/** What is public of a number. */
export const publicFieldsOf = (fields: Json): Json => withoutUnclear(renamed(publicPart(fields, echoes)))

// What belongs to the owner of a number, and goes when there is none.
const ownersFields = [
  'cnam',
  'e911',
  'failover',
  'force_outbound',
  'mms',
  'mobile',
  'port',
  'porting',
  'prepend',
  'ringback',
  'sms',
]

/** The same of a number that nobody owns. */
export const withoutOwnersFields = (doc: Json): Json =>
  Object.fromEntries(Object.entries(doc).filter(([name]) => !ownersFields.includes(name)))

/** What a feature of a list knows, told by the public fields. */
const dataFor = (feature: string, doc: Json): Json => {
  if (feature === 'outbound_cnam') {
    const name = textIn(doc, 'cnam', 'display_name')
    return { outbound_cnam: name === undefined ? {} : { display_name: name } }
  }
  if (feature === 'inbound_cnam') return { inbound_cnam: { inbound_lookup: true } }
  if (feature === 'force_outbound') return { force_outbound: doc.force_outbound === true }
  if (feature === 'cnam')
    return {
      ...(textIn(doc, 'cnam', 'display_name') === undefined ? {} : dataFor('outbound_cnam', doc)),
      ...(isTrue(memberOf(doc, 'cnam', 'inbound_lookup')) ? dataFor('inbound_cnam', doc) : {}),
    }
  const data = doc[feature]
  return { [feature]: isObject(data) ? data : {} }
}

/** The features of either form under the names of today. */
const namedFeatures = (stored: unknown, doc: Json): Json => {
  if (isObject(stored)) return renamed(stored)
  const names = Array.isArray(stored) ? stored.filter((one) => typeof one === 'string') : []
  return Object.fromEntries(names.flatMap((name) => Object.entries(dataFor(todaysName(name), doc))))
}

/**
 * What is on: feature -> its data. `local` marks the numbers of carriers that nobody is asked for; older documents
 * lack it.
 */
export const featuresOf = (fields: Json, doc: Json, carrier: string): Json => {
  const { local = {}, ...others } = namedFeatures(fields.pvt_features, doc)
  return isLocal(carrier) ? { local, ...others } : others
}

/** Names of features under the names of today; undefined where there are none. */
const featureNames = fieldOf((fields, key) => {
  const value = fields[key]
  const names = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  return names.length > 0 ? names.map(todaysName) : undefined
})

/** What is allowed and denied to this number alone, and facts whose form has never changed. */
export const numberFields = [
  featureNames('featuresAllowed', 'pvt_features_allowed'),
  featureNames('featuresDenied', 'pvt_features_denied'),
  object('carrierData', 'pvt_carrier_data'),
  fieldOf((fields, key) => isTrue(fields[key]) || undefined)('portedIn', 'pvt_ported_in'),
  text('region', 'pvt_region'),
  object('locality', 'pvt_locality'),
]

export const statedUseOf = (fields: Json) => textIn(fields, 'pvt_used_by') ?? textIn(fields, 'used_by') ?? ''
