import { type AccountRecord, type Actor, isSuperduper, isWithin } from '../../../auth/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { type Carrier, moduleOf, numberModules, type Offer } from './carriers/carrier.ts'
import { numberForbidden, numberInvalid } from './failures.ts'
import { tidyFields } from './features/rules.ts'
import { countryOf, type Numbering } from './numbering/rules.ts'
import { type NumberState, publicFields, type StateBefore } from './rules.ts'
import { type NumberDoc, type NumberHidden, NumberRecord } from './store.ts'

/** All that operations decide of a number; the rest follows. */
export interface NumberFacts {
  accountId: string
  state: NumberState
  carrier: string
  usedBy: string
  doc: NumberDoc
  hidden: NumberHidden
}

export const factsOf = ({ accountId, state, carrier, usedBy, doc, hidden }: NumberRecord): NumberFacts => ({
  accountId,
  state,
  carrier,
  usedBy,
  doc,
  hidden,
})

const isFilled = <T>(list: readonly T[] | undefined): list is readonly T[] => Boolean(list?.length)

/** Defaults are not stored. */
const sparse = (hidden: NumberHidden): NumberHidden => {
  const { featuresAllowed, featuresDenied, reserveHistory, carrierData, ...rest } = hidden
  return {
    ...rest,
    ...(isFilled(featuresAllowed) ? { featuresAllowed } : {}),
    ...(isFilled(featuresDenied) ? { featuresDenied } : {}),
    ...(isFilled(reserveHistory) ? { reserveHistory } : {}),
    ...(carrierData && Object.keys(carrierData).length > 0 ? { carrierData } : {}),
  }
}

/** The list row, but for the features that are available: those depend on settings. */
const rowOf = (facts: NumberFacts, created: number, modified: number) => {
  const { state, accountId, usedBy, hidden } = facts
  return {
    state,
    features: Object.keys(hidden.features).sort(),
    ...(hidden.featuresAllowed ? { features_allowed: hidden.featuresAllowed } : {}),
    ...(hidden.featuresDenied ? { features_denied: hidden.featuresDenied } : {}),
    ...(accountId ? { assigned_to: accountId } : {}),
    ...(usedBy ? { used_by: usedBy } : {}),
    created,
    updated: modified,
    ...(hidden.locality ? { locality: hidden.locality } : {}),
    ...(hidden.pendingOrder === undefined ? {} : { pending: true }),
  }
}

/** When a number was made and changed, and what tells this version of it from others. */
interface Version {
  created: number
  modified: number
  revision: string
  /** Else the one that has it by the metadata of the world. */
  country?: string
}

/** A number as it is to stand from now on. */
export const numberAt = (
  number: string,
  { created, modified, revision, country }: Version,
  facts: NumberFacts,
  numbering: Pick<Numbering, 'classOf'>,
): NumberRecord => {
  const hidden = sparse(facts.hidden)
  const sound = { ...facts, hidden }
  return new NumberRecord({
    accountId: facts.accountId,
    id: number,
    created,
    modified,
    revision,
    docText: JSON.stringify(facts.doc),
    hiddenText: JSON.stringify(hidden),
    rowText: JSON.stringify(rowOf(sound, created, modified)),
    state: facts.state,
    carrier: facts.carrier,
    usedBy: facts.usedBy,
    country: country || countryOf(number),
    classifier: numbering.classOf(number) ?? '',
  })
}

/** A number as it shall be stored; `before` is what is stored now, with no country when that is to be found anew. */
export const draftNumber = (
  number: string,
  before: Pick<NumberRecord, 'created' | 'country'> | undefined,
  facts: NumberFacts,
  { clock, numbering }: { clock: Clock; numbering: Numbering },
): NumberRecord => {
  const modified = gregorianNow(clock)
  const version = { created: before?.created ?? modified, modified, revision: randomHex(16) }
  return numberAt(number, { ...version, country: before?.country ?? '' }, facts, numbering)
}

const isSame = (before: NumberRecord, after: NumberRecord) =>
  before.accountId === after.accountId &&
  before.state === after.state &&
  before.carrier === after.carrier &&
  before.usedBy === after.usedBy &&
  before.classifier === after.classifier &&
  before.country === after.country &&
  before.docText === after.docText &&
  before.hiddenText === after.hiddenText

/** Whether there is nothing to write. */
export const isUnchanged = (before: NumberRecord | undefined, after: NumberRecord) =>
  before !== undefined && isSame(before, after)

// What is asked for of numbers, and what is planned then.

/** With whose rights something is done. An actor is one. */
export type NumberCaller = Pick<Actor, 'accountId' | 'account' | 'user'>

export interface NumberRequest {
  by: NumberCaller
  author: Author
  /** The account that has the number, or is to get it. */
  account: AccountRecord
  /** As it was sent. */
  number: string
  /** Of the order that is made if the number has to come from outside; else a new one. */
  orderId?: string
}

export interface Existing extends NumberRequest {
  /** `tree`: numbers of the accounts below are meant as well. Else only the account's own. */
  reach?: 'account' | 'tree'
}

export interface Creation extends NumberRequest {
  fields: Json
  /** Else what the fields say, else in_service. */
  state?: string
  carrier?: string
  portedIn?: boolean
}

export interface Activation extends NumberRequest {
  /** Replace the public fields; without them, those stay. */
  fields?: Json
}

export interface Update extends Existing {
  fields: Json
  how: 'merge' | 'replace'
}

export interface Use {
  accountId: string
  number: string
  /** Undefined: nothing any more. */
  usedBy: 'callflow' | 'trunkstore' | undefined
}

/** What is going to happen to a number. Nothing has happened yet. */
export interface NumberPlan {
  /** Undefined when there is nothing to write. */
  set: ChangeSet | undefined
  /** As it is afterwards; when it is removed, as it is told to be gone. */
  number: NumberRecord
  deleted: boolean
  /** What the carrier is asked for once the plan is committed. */
  order?: string
}

/** Where numbers come from that the inventory does not have, and who has to know when they change hands. */
export interface CarrierRequests {
  /** What a search of the account has brought up lately. */
  offered(accountId: string, number: string): Promise<Offer | undefined>
  of(module: string): Carrier
}

/** A number that an operation works on. `stored` is what the inventory has of it. */
export interface Found {
  number: string
  stored: NumberRecord | undefined
  facts: NumberFacts
  state: StateBefore
}

export const noFacts: NumberFacts = {
  accountId: '',
  state: 'discovery',
  carrier: '',
  usedBy: '',
  doc: {},
  hidden: { features: {} },
}

export const foundRecord = (number: string, stored: NumberRecord): Found => ({
  number,
  stored,
  facts: factsOf(stored),
  state: stored.state,
})

export const rightsOf = (by: NumberCaller) => ({
  isOperator: isSuperduper(by),
  allowsAdditions: by.account.hidden.allowsNumberAdditions,
})

/** Whether the caller may deal with the account that owns a number. */
export const reaches = (by: NumberCaller, owner: AccountRecord | undefined) =>
  owner !== undefined && isWithin(by, owner)

// What of a request becomes part of a number.

const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** The feature lists that an operator gives a number; others are not heard. */
const ownLists = (fields: Json, isOperator: boolean) => {
  if (!isOperator) return {}
  const { features_allowed: allowed, features_denied: denied } = fields
  return {
    ...(isListOfTexts(allowed) ? { featuresAllowed: allowed } : {}),
    ...(isListOfTexts(denied) ? { featuresDenied: denied } : {}),
  }
}

const modules: ReadonlySet<string> = new Set(numberModules)

/** The carrier that the public fields name; the operator chooses, others may repeat what is so anyway. */
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
