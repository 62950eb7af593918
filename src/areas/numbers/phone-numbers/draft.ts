import type { Clock } from '../../../lib/clock.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { countryOf, type Numbering } from './numbering/rules.ts'
import type { NumberState } from './rules.ts'
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
