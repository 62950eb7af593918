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

/** What operations decide. The rest of a record follows from it. */
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

/** The list row without `features_available`, which depends on settings. */
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

interface Version {
  created: number
  modified: number
  revision: string
  /** Absent: found by the numbering plans. */
  country?: string
}

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

/** `before`: the stored record; an empty country is looked up again. */
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

export const isUnchanged = (before: NumberRecord | undefined, after: NumberRecord) =>
  before !== undefined && isSame(before, after)

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
  portedIn?: boolean
}

export interface Activation extends NumberRequest {
  /** Absent: the public fields stay. */
  fields?: Json
}

export interface Update extends Existing {
  fields: Json
  how: 'merge' | 'replace'
}

export interface Use {
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

export const reaches = (by: NumberCaller, owner: AccountRecord | undefined) =>
  owner !== undefined && isWithin(by, owner)

const isListOfTexts = (value: unknown): value is string[] =>
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
