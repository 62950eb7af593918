// The state of a call during routing: dialed number, allowed caller IDs and the matching callflow.

import { bracketed } from '../../../lib/sip-host.ts'
import type { Numbering } from '../../numbers/phone-numbers/numbering.ts'
import { noMatch, phoneNumberIn } from '../callflows/rules.ts'
import {
  type CallerId,
  type CallParty,
  dialPlansOf,
  externalId,
  isNumberAllowed,
  numbersFor,
  outboundFlags,
} from './callers.rules.ts'
import type { AccountFacts, Asking, CallflowFacts, RouteQuery } from './facts.ts'
import type { CarrierWish } from './flows.rules.ts'
import { billingOf, type FlatRate } from './offnet.rules.ts'
import { leftOut, noStage, type Stage } from './stages.ts'

/** A call to route. `number`: as dialed. */
export interface CallflowQuery extends Partial<Omit<RouteQuery, 'realm'>> {
  /** The calling account. For calls from carriers: the called account. */
  accountId: string
  /** `carrier`: an inbound call to a number of the account. */
  from: 'account' | 'carrier'
  number: string
}

export interface Rules {
  numbering: Numbering
  flatRate: FlatRate
}

export interface Dialled {
  /** As it was dialled, without spaces. */
  text: string
  /** In the form of the inventory, if it is a phone number. */
  phone: string | undefined
  classification: string | undefined
  isEmergency: boolean
}

/** One attempt to decide a call, with what comes up on the way. */
export interface Call extends Asking {
  query: CallflowQuery
  rules: Rules
  /** How an account pays for an answered call that leaves the platform. */
  charges: { account: string; calls: number | undefined }[]
  /** The kind of the first outside number. */
  classification: string | undefined
  /** Number of devices, users and groups that were looked at. */
  rung: number
}

/** The place of a target in a call: the account of the flow, and the path to it. */
export interface CallPlace {
  call: Call
  account: AccountFacts
  /** The callflows that led here. None of them is entered twice. */
  path: readonly string[]
  /** The number that modules call outside the platform, if the account has dialled it. */
  dialled: Dialled | undefined
  /** Payer of a carrier call: the calling user or device, or only the account. */
  payer: CallParty
  /** Shown to devices. */
  callerId: CallerId
  /** Shown to numbers outside. A function, because only calls that leave need it. */
  outsideId: () => CallerId
  /** Not rung as a member of a group. */
  isDirect: boolean
  /** Other phones of the called user ring as well. */
  hasCompany?: true
  /** The carriers that the flow allows. */
  carriers?: CarrierWish
  /** The groups that led here since the last callflow. None of them is rung in itself. */
  groups?: readonly string[]
}

/** Whether facts are missing. Facts that depend on a missing fact are looked up after it. */
export const hasOpenFacts = ({ wants }: Call) => wants.size > 0

export const numberOf = ({ phone, text }: Dialled) => phone ?? text

export const dial = ({ rules: { numbering } }: Call, party: CallParty, number: string): Dialled => {
  const text = number.replace(/\s/g, '')
  const dialledAs = (phone: string | undefined) => {
    const classification = numbering.classOf(phone ?? text)
    const isEmergency =
      classification !== undefined && numbering.classifiers[classification]?.emergency === true
    return { text, phone, classification, isEmergency }
  }
  const plain = dialledAs(undefined)
  return plain.isEmergency ? plain : dialledAs(phoneNumberIn(text, { plans: dialPlansOf(party), numbering }))
}

/** A number as carriers and the inventory write it. */
export const dialledByCarrier = ({ rules: { numbering } }: Call, number: string): Dialled => ({
  text: number,
  phone: number,
  classification: numbering.classOf(number),
  isEmergency: false,
})

/** Whether a phone number is in service in the account. */
const isOwn = ({ ask }: Call, accountId: string, phone: string) => {
  const owner = ask('numberOwner', '', phone)
  return owner?.accountId === accountId && owner.isInService
}

/**
 * Whether an account may show a number outside: it has the number, or its reseller allows it. A reseller cannot
 * allow a number that it may not show.
 */
const isShownBy = (call: Call, accountId: string, phone: string): boolean => {
  if (isOwn(call, accountId, phone)) return true
  const allowed = call.ask('allowedCallerIds', accountId)
  if (!allowed || !isNumberAllowed(phone, allowed.numbers)) return false
  return allowed.resellerId === undefined || isShownBy(call, allowed.resellerId, phone)
}

/** The phone numbers that a party wants to show. Other texts are never shown outside. */
export const wantedBy = (call: Call, party: CallParty, kind: 'external' | 'emergency') =>
  numbersFor(party, kind).flatMap((number) => dial(call, { account: party.account }, number).phone ?? [])

/** The first of some phone numbers that the account may show, else one of its numbers. */
export const shownNumber = (call: Call, { id }: AccountFacts, phones: readonly string[]) =>
  phones.find((phone) => isShownBy(call, id, phone)) ??
  (hasOpenFacts(call) ? undefined : call.ask('callbackNumber', id))

/**
 * Caller ID of a party on external calls. Without a number of the account it is withheld: the number that a phone states is
 * never sent.
 */
export const outsideIdOf = (call: Call, party: CallParty): CallerId => {
  const number = shownNumber(call, party.account, wantedBy(call, party, 'external'))
  return number === undefined ? { privacy: 'full' } : externalId(party, number)
}

/** The number that an account asserts if a call that it forwards shows a foreign one; empty if it has none. */
const assertedFor = ({ call, account, payer }: CallPlace, { number }: CallerId) => {
  if (number === undefined) return undefined
  const { phone } = dial(call, { account }, number)
  if (phone !== undefined && isShownBy(call, account.id, phone)) return undefined
  return shownNumber(call, account, wantedBy(call, payer, 'external')) ?? ''
}

/**
 * Whether a SIP user that a customer has written is a phone number that is not in service in the account. The
 * customer's server may connect such a call to anyone.
 */
export const isForeignNumber = (call: Call, account: AccountFacts, user: string | undefined) => {
  if (user === undefined) return false
  const { phone, isEmergency } = dial(call, { account }, user)
  if (isEmergency || phone === undefined) return isEmergency
  return !isOwn(call, account.id, phone) && !hasOpenFacts(call)
}

/** The callflow whose pattern captures most of the number. */
const byPattern = ({ ask }: Call, accountId: string, { text, phone }: Dialled): CallflowFacts | undefined => {
  let best: { id: string; length: number } | undefined
  for (const { id, patterns } of ask('patterned', accountId) ?? []) {
    for (const pattern of patterns) {
      const captured = pattern.lastGroup(text) ?? (phone === undefined ? undefined : pattern.lastGroup(phone))
      if (captured !== undefined && captured.length > (best?.length ?? -1))
        best = { id, length: captured.length }
    }
  }
  return best && ask('callflow', accountId, best.id)
}

export const callflowListing = ({ ask }: Call, accountId: string, { text, phone }: Dialled) =>
  ask('callflowOf', accountId, text) ??
  (phone === undefined ? undefined : ask('callflowOf', accountId, phone))

export const callflowFor = (call: Call, accountId: string, dialled: Dialled) =>
  callflowListing(call, accountId, dialled) ??
  (hasOpenFacts(call) ? undefined : byPattern(call, accountId, dialled))

/** The catch-all callflow. */
export const callflowOfOthers = (call: Call, accountId: string) =>
  hasOpenFacts(call) ? undefined : call.ask('callflowOf', accountId, noMatch)

export const paymentOf = (
  { ask, rules }: Call,
  account: AccountFacts,
  classification: string | undefined,
) => {
  const limits = ask('limits', account.id)
  const funds = ask('funds', account.id, classification)
  return (
    limits && funds && billingOf({ direction: 'outbound', classification }, limits, funds, rules.flatRate)
  )
}

/** The stage of what was found. A text: why there is none. Undefined: not known yet. */
export const stageFor = <Found extends object>(
  found: Found | string | undefined,
  [type, id]: readonly [type: string, id: string],
  stageOf: (found: Found) => Stage,
): Stage => {
  if (found === undefined) return noStage
  return typeof found === 'string' ? leftOut(type, id, found) : stageOf(found)
}

export const outsideSeconds = 120

/** The carriers that take a number, each after the time that the one before has to ring. */
export const gateways = (place: CallPlace, dialled: Dialled, callerId: CallerId): Stage => {
  const { call } = place
  const { classification, isEmergency } = dialled
  const number = isEmergency ? dialled.text : numberOf(dialled)
  if (hasOpenFacts(call)) return noStage
  const { fromRealm, ...wish } = place.carriers ?? {}
  const wanted = {
    number,
    classification,
    emergency: isEmergency,
    flags: outboundFlags(place.payer),
    callerNumber: callerId.number,
    ...wish,
  }
  const found = call.ask('gateways', place.account.id, JSON.stringify(wanted)) ?? []
  if (found.length === 0) return leftOut('number', number, 'no_carrier')
  const asserted = isEmergency ? undefined : assertedFor(place, callerId)
  let delay = 0
  const targets = found.map((gateway) => {
    const target = {
      ...gateway,
      from_realm: bracketed(fromRealm ?? gateway.from_realm ?? place.account.doc.realm),
      ...(asserted === undefined ? {} : { asserted_number: asserted }),
      account_id: place.account.id,
      caller_id: callerId,
      delay_s: delay,
      timeout_s: outsideSeconds,
    }
    delay += gateway.progress_timeout_s
    return target
  })
  return { targets, leftOut: [], seconds: outsideSeconds }
}
