import { type AccountRecord, type Actor, isSuperduper, isWithin } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { type Json, present } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { type Carrier, moduleOf, numberModules, type Offer } from './carriers/carrier.ts'
import { numberForbidden, numberInvalid } from './failures.ts'
import { countryOf, type Numbering } from './numbering.ts'
import { type NumberState, publicFields, tidyFields } from './rules.ts'
import { type NumberDoc, type NumberHidden, NumberRecord } from './store.ts'

/** What operations decide. The rest of a record follows from it. */
export interface NumberFacts {
  accountId: string
  state: NumberState
  carrier: string
  usedBy: string
  doc: NumberDoc
  hidden: NumberHidden
}

export const numberFactsOf = (record: NumberRecord): NumberFacts => {
  const { accountId, state, carrier, usedBy, doc, hidden } = record
  return { accountId, state, carrier, usedBy, doc, hidden }
}

const filled = <T extends object>(value: T | undefined) =>
  value && Object.keys(value).length > 0 ? value : undefined

/** Empty lists are not stored. */
const sparse = (hidden: NumberHidden): NumberHidden => {
  const { featuresAllowed, featuresDenied, reserveHistory, carrierData, ...rest } = hidden
  const lists = {
    featuresAllowed: filled(featuresAllowed),
    featuresDenied: filled(featuresDenied),
    reserveHistory: filled(reserveHistory),
    carrierData: filled(carrierData),
  }
  return { ...rest, ...present(lists) }
}

/** The list row without `features_available`, which depends on settings. */
const listRowOf = ({ state, accountId, usedBy }: NumberFacts, hidden: NumberHidden, version: Version) => ({
  state,
  features: Object.keys(hidden.features).sort(),
  features_allowed: hidden.featuresAllowed,
  features_denied: hidden.featuresDenied,
  assigned_to: accountId || undefined,
  used_by: usedBy || undefined,
  created: version.created,
  updated: version.modified,
  locality: hidden.locality,
  pending: hidden.pendingOrder === undefined ? undefined : true,
})

interface Version {
  created: number
  modified: number
  revision: string
  /** Absent or empty: found by the numbering plans. */
  country?: string | undefined
}

export const numberAt = (
  number: string,
  { country, ...version }: Version,
  facts: NumberFacts,
  numbering: Pick<Numbering, 'classOf'>,
): NumberRecord => {
  const { doc, hidden: given, ...columns } = facts
  const hidden = sparse(given)
  return new NumberRecord({
    ...columns,
    ...version,
    id: number,
    docText: JSON.stringify(doc),
    hiddenText: JSON.stringify(hidden),
    rowText: JSON.stringify(listRowOf(facts, hidden, version)),
    country: country || countryOf(number),
    classifier: numbering.classOf(number) ?? '',
  })
}

const changeable = [
  'accountId',
  'state',
  'carrier',
  'usedBy',
  'classifier',
  'country',
  'docText',
  'hiddenText',
] as const

export const isUnchanged = (before: NumberRecord, after: NumberRecord) =>
  changeable.every((field) => before[field] === after[field])

export type NumberCaller = Pick<Actor, 'accountId' | 'account' | 'user'>

export interface NumberRequest {
  by: NumberCaller
  author: Author
  account: AccountRecord
  /** As sent. */
  number: string
  /** Id of the job that orders the number from an external carrier. Absent: a new one. */
  orderId?: string
}

export interface Existing extends NumberRequest {
  /** `tree`: numbers of sub-accounts, too. */
  reach?: 'account' | 'tree'
}

export interface Creation extends NumberRequest {
  fields: Json
  /** Default: `create_with_state`, else in_service. */
  state?: string
  carrier?: string
  portedIn?: true
}

export interface Activation extends NumberRequest {
  /** Absent: the public fields stay. */
  fields?: Json | undefined
}

export interface Update extends Existing {
  fields: Json
  how: 'merge' | 'replace'
}

export interface NumberUse {
  accountId: string
  number: string
  /** Undefined: nothing. */
  usedBy: 'callflow' | 'trunkstore' | undefined
}

export interface NumberPlan {
  /** Undefined: nothing to write. */
  set: ChangeSet | undefined
  /** The number afterwards; of a removed one its last state. */
  number: NumberRecord
  deleted: boolean
  /** Id of the job that orders the number. */
  order?: string
}

export interface CarrierRequests {
  /** Found by a search of the account within the last hour. */
  offered(accountId: string, number: string): Promise<Offer | undefined>
  of(module: string): Carrier
}

export interface FoundNumberFacts {
  number: string
  stored: NumberRecord | undefined
  facts: NumberFacts
}

export const noFacts: NumberFacts = {
  accountId: '',
  state: 'discovery',
  carrier: '',
  usedBy: '',
  doc: {},
  hidden: { features: {} },
}

export const foundRecord = (stored: NumberRecord): FoundNumberFacts => ({
  number: stored.id,
  stored,
  facts: numberFactsOf(stored),
})

export const rightsOf = (by: NumberCaller) => ({
  isOperator: isSuperduper(by),
  allowsAdditions: by.account.hidden.allowsNumberAdditions,
})

export const reaches = (by: NumberCaller, owner: AccountRecord | undefined) =>
  owner !== undefined && isWithin(by, owner)

export const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** Only operators set the lists. */
const ownLists = (fields: Json, isOperator: boolean) => {
  if (!isOperator) return {}
  const { features_allowed: allowed, features_denied: denied } = fields
  return {
    ...(isListOfTexts(allowed) ? { featuresAllowed: allowed } : {}),
    ...(isListOfTexts(denied) ? { featuresDenied: denied } : {}),
  }
}

const modules: ReadonlySet<string> = new Set(numberModules)

/** Only operators choose a carrier; others may repeat the present one if `repeating` is allowed. */
export const carrierIn = (
  { fields, by }: { fields: Json; by: NumberCaller },
  current: string,
  repeating: 'allowed' | 'refused',
): string => {
  const name = fields.carrier_name
  if (typeof name !== 'string') return current
  const module = moduleOf(name)
  if (!isSuperduper(by)) {
    if (repeating === 'allowed' && module === current) return current
    throw failure(numberForbidden, { cause: 'feature carrier_name is not available' })
  }
  if (module && modules.has(module)) return module
  throw failure(numberInvalid, { cause: `'${name}' is not known by the system` })
}

export const withFields = (facts: NumberFacts, fields: Json, by: NumberCaller): NumberFacts => ({
  ...facts,
  doc: tidyFields(publicFields(fields, facts.hidden.deviceId ? facts.doc : {})),
  hidden: { ...facts.hidden, ...ownLists(fields, isSuperduper(by)) },
})
