// What a call comes to on its way through flows: whom each step rings, what follows it, and where it leaves.
import { memberOf } from '../../../lib/member.ts'
import {
  bracketed,
  isSipHost,
  isSipUser,
  type SipPlace,
  sipAddress,
  sipPlaceIn,
} from '../../../lib/sip-host.ts'
import type { Numbering } from '../../numbers/phone-numbers/numbering/rules.ts'
import { noMatch, phoneNumberIn } from '../callflows/rules.ts'
import type { TrunkTarget } from '../connectivity/rules.ts'
import { isRegistrable } from '../devices/rules.ts'
import type { Reached } from '../resources/destinations.operations.ts'
import {
  type CallerId,
  dialPlansOf,
  disabledPart,
  externalId,
  internalId,
  isAllowed,
  isRestricted,
  isUndisturbed,
  numbersFor,
  outboundFlags,
  type Party,
  partyAt,
  presenceOf,
} from './callers.rules.ts'
import type { AccountFacts, Asking, CallflowFacts, DeviceFacts } from './facts.ts'
import {
  type Beside,
  type CarrierWish,
  carriersIn,
  type Forwarding,
  forwardingsFor,
  inTurn,
  type Member,
  membersIn,
  membersOf,
  needsMediaServer,
  repeatsIn,
  responseIn,
  stepAt,
  type Timing,
  timingIn,
} from './flows.rules.ts'
import { billingOf, type FlatRate } from './offnet.rules.ts'
import {
  type DeviceTarget,
  delayed,
  ended,
  inOrder,
  leftOut,
  nothing,
  type Stage,
  together,
} from './stages.ts'

/** A call that has to go somewhere. */
export interface CallflowQuery {
  /** Whose call it is: who calls, or, of calls from carriers, who is called. */
  accountId: string
  /** `carrier`: it comes from outside, for a number of the account. */
  from: 'account' | 'carrier'
  /** As it was dialled. */
  number: string
  deviceId?: string | undefined
  /** The number that the caller gives itself. */
  caller?: string | undefined
  /** The name that a carrier states for the caller. */
  callerName?: string | undefined
  /** The caller wants not to be shown. */
  isWithheld?: boolean | undefined
}

export interface Rules {
  numbering: Numbering
  flatRate: FlatRate
}

interface Dialled {
  /** As it was dialled, without spaces. */
  text: string
  /** In the form of the inventory, where it is a phone number. */
  phone: string | undefined
  classification: string | undefined
  isEmergency: boolean
}

/** Where in a call somebody is rung: whose flow it is, and how one came there. */
export interface Place {
  account: AccountFacts
  /** The callflows that led here, to which it does not go back. */
  path: readonly string[]
  /** What modules that leave the platform call, where somebody of the account has dialled it. */
  dialled: Dialled | undefined
  /** Who pays for what leaves the platform: the caller, or the account alone. */
  payer: Party
  /** Shown to devices. */
  callerId: CallerId
  /** Shown to numbers outside. Only calls that leave ask for it. */
  outsideId: () => CallerId
  /** Rung by itself, not as one of a group. */
  isDirect: boolean
  /** Other phones of whoever is called ring as well. */
  hasCompany?: true
  /** Whose carriers the call may leave by, where the flow says so. */
  carriers?: CarrierWish
}

const outsideSeconds = 120
// Groups in groups, and flows that forward to flows, look at no more.
const maxRung = 500
const deepestPath = 10

/** The place of a device that does not register, from its record. */
interface FixedPlace {
  /** Undefined: the record has no valid SIP URI. */
  place: SipPlace | undefined
  /** The record contains any SIP URI: a call to it leaves the platform. Otherwise the place is the account's own PBX. */
  isOffNet: boolean
}

const fixedPlaceOf = ({ doc: { sip } }: DeviceFacts): FixedPlace | undefined => {
  if (sip?.method === 'ip') {
    const { ip = '', username = '' } = sip
    const place = { host: ip, ...(isSipUser(username) ? { user: username } : {}) }
    return { place: isSipHost(ip) ? place : undefined, isOffNet: false }
  }
  if (sip?.invite_format !== 'route' || !sip.route) return undefined
  return { place: sipPlaceIn(sip.route), isOffNet: true }
}

/** Where a call to a device is sent that does not register. */
type Sent = Reached & Pick<DeviceTarget, 'called' | 'account_billing'>

const targetOfDevice = (
  device: DeviceFacts,
  party: Party,
  { delay, timeout }: Timing,
  sent: Sent | undefined,
): Stage => {
  const { id, doc } = party.account
  const { sip, owner_id: ownerId } = device.doc
  const presenceId = presenceOf(party, sip?.realm ?? doc.realm)
  const target = {
    type: 'device' as const,
    device_id: device.id,
    ...(sip?.username ? { username: sip.username } : {}),
    realm: sip?.realm ?? doc.realm,
    ...(ownerId === undefined ? {} : { owner_id: ownerId }),
    ...(presenceId === undefined ? {} : { presence_id: presenceId }),
    ...sent,
    account_id: id,
    delay_s: delay,
    timeout_s: timeout,
  }
  return { targets: [target], leftOut: [], seconds: delay + timeout }
}

const shown = (stage: Stage, callerId: CallerId): Stage => ({
  ...stage,
  targets: stage.targets.map((target) => ({ ...target, caller_id: callerId })),
})

const nameOfParty = ({ device, user }: Party): [type: string, id: string] =>
  device ? ['device', device.id] : ['user', user?.id ?? '']

/** What an account pays for a call that leaves the platform, if it is answered. */
interface Charge {
  account: string
  calls: number | undefined
}

/** Everything that a decision is made with, and what comes up on the way. */
export const createDecision = (asking: Asking, { numbering, flatRate }: Rules, question: CallflowQuery) => {
  const { ask } = asking
  const charges: Charge[] = []
  let classification: string | undefined
  let rung = 0

  // What follows from something else is not looked at while that is not known.
  const isOpen = () => asking.wants.size > 0

  const dial = (party: Party, number: string): Dialled => {
    const text = number.replace(/\s/g, '')
    const isEmergency = (name: string | undefined) =>
      name !== undefined && numbering.classifiers[name]?.emergency === true
    const plainClass = numbering.classOf(text)
    if (isEmergency(plainClass))
      return { text, phone: undefined, classification: plainClass, isEmergency: true }
    const phone = phoneNumberIn(text, { plans: dialPlansOf(party), numbering })
    const name = numbering.classOf(phone ?? text)
    return { text, phone, classification: name, isEmergency: isEmergency(name) }
  }

  /** Whether a phone number is one of the account, in service. */
  const isOwn = (accountId: string, phone: string) => {
    const owner = ask('numberOwner', '', phone)
    return owner?.accountId === accountId && owner.isInService
  }

  const isShownBy = (accountId: string, phone: string): boolean => {
    if (isOwn(accountId, phone)) return true
    const allowed = ask('allowedCallerIds', accountId)
    if (!allowed || !isAllowed(phone, allowed.numbers)) return false
    return allowed.resellerId === undefined || isShownBy(allowed.resellerId, phone)
  }

  /**
   * Whether an account may show a number outside: it is one of its own, or who sells to it allows it. A reseller allows no
   * number that it may not show.
   */
  const mayShow = (account: AccountFacts, number: string) => {
    const { phone } = dial({ account }, number)
    return phone !== undefined && isShownBy(account.id, phone)
  }

  const callbackNumber = (account: AccountFacts) => (isOpen() ? undefined : ask('callbackNumber', account.id))

  /** The phone numbers that a party wants to show, in the form of the inventory. Other texts are never shown outside. */
  const wantedBy = (party: Party, kind: 'external' | 'emergency') =>
    numbersFor(party, kind).flatMap((number) => dial({ account: party.account }, number).phone ?? [])

  /** The first of some phone numbers that the account may show, else one of its own. */
  const shownNumber = (account: AccountFacts, phones: readonly string[]) =>
    phones.find((phone) => isShownBy(account.id, phone)) ?? callbackNumber(account)

  /** What a party shows outside. An account without a number is hidden: what its phones state never leaves. */
  const outsideIdOf = (party: Party): CallerId => {
    const number = shownNumber(party.account, wantedBy(party, 'external'))
    return number === undefined ? { privacy: 'full' } : externalId(party, number)
  }

  /** The number that an account asserts if a call that it forwards shows a foreign one; empty if it has none. */
  const assertedFor = ({ account, payer }: Place, { number }: CallerId) =>
    number === undefined || mayShow(account, number)
      ? undefined
      : (shownNumber(account, wantedBy(payer, 'external')) ?? '')

  /** A number as carriers and the inventory write it. */
  const arrived = (number: string): Dialled => ({
    text: number,
    phone: number,
    classification: numbering.classOf(number),
    isEmergency: false,
  })

  const byPattern = (accountId: string, { text, phone }: Dialled): CallflowFacts | undefined => {
    let best: { id: string; length: number } | undefined
    for (const { id, patterns } of ask('patterned', accountId) ?? []) {
      for (const pattern of patterns) {
        const captured =
          pattern.lastGroup(text) ?? (phone === undefined ? undefined : pattern.lastGroup(phone))
        if (captured !== undefined && captured.length > (best?.length ?? -1))
          best = { id, length: captured.length }
      }
    }
    return best && ask('callflow', accountId, best.id)
  }

  const listing = (accountId: string, { text, phone }: Dialled) =>
    ask('callflowOf', accountId, text) ??
    (phone === undefined ? undefined : ask('callflowOf', accountId, phone))

  const others = (accountId: string, dialled: Dialled) =>
    listing(accountId, dialled) ?? (isOpen() ? undefined : byPattern(accountId, dialled))

  const leftOver = (accountId: string) => (isOpen() ? undefined : ask('callflowOf', accountId, noMatch))

  const gateways = (
    place: Place,
    { text, phone, classification: name, isEmergency }: Dialled,
    callerId: CallerId,
  ): Stage => {
    const number = isEmergency ? text : (phone ?? text)
    const wanted = {
      number,
      classification: name,
      emergency: isEmergency,
      flags: outboundFlags(place.payer),
      callerNumber: callerId.number,
    }
    if (isOpen()) return nothing
    const { fromRealm, ...wish } = place.carriers ?? {}
    const found = ask('gateways', place.account.id, JSON.stringify({ ...wanted, ...wish })) ?? []
    if (found.length === 0) return leftOut('number', number, 'no_carrier')
    const asserted = isEmergency ? undefined : assertedFor(place, callerId)
    let delay = 0
    const targets = found.map((gateway) => {
      const target = {
        type: 'gateway' as const,
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

  /** How an account pays for a call that leaves the platform, or why it cannot. Undefined: not known yet. */
  const paymentOf = (account: AccountFacts, name: string | undefined) => {
    const limits = ask('limits', account.id)
    const funds = ask('funds', account.id, name)
    const call = { direction: 'outbound', classification: name } as const
    return limits && funds && billingOf(call, limits, funds, flatRate)
  }

  /** A number that leaves over carriers, when whoever pays for it can. */
  const overCarriers = (place: Place, dialled: Dialled, callerId: CallerId): Stage => {
    const { account } = place
    const paid = paymentOf(account, dialled.classification)
    if (!paid) return nothing
    const number = dialled.phone ?? dialled.text
    if (typeof paid === 'string') return leftOut('number', number, paid)
    const stage = gateways(place, dialled, callerId)
    if (stage.targets.length > 0) charges.push({ account: account.id, calls: paid.calls })
    return {
      ...stage,
      targets: stage.targets.map((target) => ({ ...target, called: number, account_billing: paid.billing })),
    }
  }

  /** A number outside of the account: of another account here, or somewhere in the world. */
  const outside = (place: Place, dialled: Dialled, callerId: CallerId): Stage => {
    const number = dialled.phone ?? dialled.text
    classification ??= dialled.classification
    if (dialled.isEmergency || isRestricted(place.payer, dialled.classification))
      return leftOut('number', number, 'forbidden_classifier')
    if (dialled.phone === undefined) return leftOut('number', number, 'unknown_number')
    const owner = ask('numberOwner', '', dialled.phone)
    if (!owner || owner.mustLeave) return overCarriers(place, dialled, callerId)
    const account = ask('account', owner.accountId)
    if (account && !account.isTold) return overCarriers(place, dialled, callerId)
    const { phone } = dialled
    return account ? arriving(account, { ...dialled, text: phone }, callerId, place.path) : nothing
  }

  /**
   * A call to a SIP URI that a customer has written: it leaves the platform, is restricted like a call to the number that
   * the URI names, and is paid for. A text: why it is not made.
   */
  const sentOutside = (party: Party, place: SipPlace): Sent | string | undefined => {
    const { account } = party
    const dialled = place.user === undefined ? undefined : dial(party, place.user)
    const name = dialled?.classification
    if (dialled?.isEmergency || isRestricted(party, name)) return 'forbidden_classifier'
    const paid = paymentOf(account, name)
    if (paid === undefined || typeof paid === 'string') return paid
    const reached = reach(account, place)
    if (reached === undefined || typeof reached === 'string') return reached
    classification ??= name
    charges.push({ account: account.id, calls: paid.calls })
    return { ...reached, called: dialled?.phone ?? place.user ?? place.host, account_billing: paid.billing }
  }

  /**
   * Whether a SIP user that a customer has written is a phone number that is not in service in the account. The
   * customer's server may connect such a call to anyone.
   */
  const isForeignNumber = (account: AccountFacts, user: string | undefined) => {
    if (user === undefined) return false
    const { phone, isEmergency } = dial({ account }, user)
    if (isEmergency || phone === undefined) return isEmergency
    return !isOwn(account.id, phone) && !isOpen()
  }

  /** Where a call to a place is sent now. A text: why it is not sent. Undefined: not known yet. */
  const reach = (account: AccountFacts, { user, ...host }: SipPlace): Reached | string | undefined => {
    const reached = ask('destination', account.id, JSON.stringify(host))
    if (reached) return { ...reached, uri: sipAddress({ ...host, user }) }
    return isOpen() ? undefined : 'forbidden_destination'
  }

  const phoneOf = (device: DeviceFacts, party: Party, timing: Timing): Stage => {
    const { sip, device_type: type } = device.doc
    const fixed = fixedPlaceOf(device)
    if (!fixed) {
      const isThere = sip?.username && isRegistrable(type)
      return isThere
        ? targetOfDevice(device, party, timing, undefined)
        : leftOut('device', device.id, 'not_registrable')
    }
    const { place, isOffNet } = fixed
    if (!place) return leftOut('device', device.id, 'forbidden_destination')
    const leaves = isOffNet || isForeignNumber(party.account, place.user)
    const sent = leaves ? sentOutside(party, place) : reach(party.account, place)
    if (sent === undefined) return nothing
    return typeof sent === 'string'
      ? leftOut('device', device.id, sent)
      : targetOfDevice(device, party, timing, sent)
  }

  /** Where the calls go that a server does not take. */
  const failedOver = (
    { failover = {}, trunk_id, server }: TrunkTarget,
    dialled: Dialled,
    place: Place,
  ): Stage => {
    const { number, uri, user } = failover
    const payer = { account: place.account }
    if (number !== undefined) return outside({ ...place, payer }, dial(payer, number), place.outsideId())
    const wanted = uri === undefined ? undefined : sipPlaceIn(uri)
    if (!wanted) return nothing
    const called = user ?? dialled.phone ?? dialled.text
    const sent = sentOutside(payer, { ...wanted, user: called })
    if (sent === undefined) return nothing
    if (typeof sent === 'string') return leftOut('trunk', trunk_id, sent)
    const target = {
      ...sent,
      type: 'trunk' as const,
      trunk_id,
      server,
      account_id: place.account.id,
      caller_id: place.outsideId(),
      number: called,
      uri: sipAddress(wanted),
      delay_s: 0,
      timeout_s: outsideSeconds,
    }
    return { targets: [target], leftOut: [], seconds: outsideSeconds }
  }

  const toServer = (trunk: TrunkTarget, account: AccountFacts, callerId: CallerId): Stage => {
    const { failover: _, isRenamed, ...server } = trunk
    const target = { timeout_s: outsideSeconds, ...server, account_id: account.id, caller_id: callerId }
    const stage = { targets: [target], leftOut: [], seconds: trunk.delay_s + target.timeout_s }
    if (trunk.uri === undefined) return stage
    const place = sipPlaceIn(trunk.uri)
    if (!place) return leftOut('trunk', trunk.trunk_id, 'forbidden_destination')
    const leaves = isRenamed && isForeignNumber(account, trunk.number)
    const sent = leaves ? sentOutside({ account }, { ...place, user: trunk.number }) : reach(account, place)
    if (sent === undefined) return nothing
    if (typeof sent === 'string') return leftOut('trunk', trunk.trunk_id, sent)
    return { ...stage, targets: [{ ...target, ...sent, uri: trunk.uri }] }
  }

  /** The server of the account's own that takes the calls of a number, where there is one. */
  const overTrunk = (dialled: Dialled, place: Place): Stage | undefined => {
    const { account, callerId, path } = place
    const number = dialled.phone ?? dialled.text
    const trunk = dialled.phone === undefined ? undefined : ask('trunk', account.id, dialled.phone)
    if (trunk === undefined) return undefined
    if (trunk === 'disabled') return leftOut('number', number, 'trunk_disabled')
    const name = `${account.id}/trunk/${number}`
    if (path.includes(name) || path.length >= deepestPath) return leftOut('number', number, 'circular')
    const stage = toServer(trunk, account, callerId)
    return inOrder(stage, failedOver(trunk, dialled, { ...place, path: [...path, name] }))
  }

  /** A call that comes to an account from outside of it. */
  const arriving = (
    account: AccountFacts,
    dialled: Dialled,
    callerId: CallerId,
    path: readonly string[],
  ): Stage => {
    if (account.isDisabled) return leftOut('account', account.id, 'account_disabled')
    const callflow = others(account.id, dialled)
    const place: Place = {
      account,
      path,
      dialled: undefined,
      payer: { account },
      callerId,
      outsideId: () => callerId,
      isDirect: true,
    }
    if (callflow) return enter(callflow, place)
    return overTrunk(dialled, place) ?? leftOut('number', dialled.phone ?? dialled.text, 'unknown_number')
  }

  const forwardedTo = (forward: Forwarding, party: Party, place: Place, timing: Timing): Stage => {
    const dialled = dial(party, forward.number)
    const callflow = dialled.isEmergency ? undefined : listing(place.account.id, dialled)
    const outsideId = forward.keepsCallerId ? place.outsideId : () => outsideIdOf(party)
    const callerId = forward.keepsCallerId ? place.callerId : internalId(party, undefined)
    const further = { ...place, payer: party, dialled: undefined, callerId, outsideId, isDirect: true }
    const stage = callflow ? enter(callflow, further) : outside(further, dialled, outsideId())
    const targets = stage.targets.map((target) => ({ ...target, isForwarded: true }))
    return delayed({ ...stage, targets }, timing.delay)
  }

  const ringDevice = (id: string, place: Place, timing: Timing): Stage => {
    const device = ask('device', place.account.id, id)
    if (!device) return leftOut('device', id, 'not_found')
    if (id === question.deviceId && place.account.id === question.accountId)
      return leftOut('device', id, 'calls_itself')
    const party = partyAt(asking, place.account, device)
    const disabled = disabledPart(party)
    if (disabled) return leftOut('device', id, disabled)
    if (isUndisturbed(party)) return leftOut('device', id, 'do_not_disturb')
    return ringForwarding(party, place, timing, () => {
      return shown(phoneOf(device, party, timing), place.callerId)
    })
  }

  const ringForwarding = (party: Party, place: Place, timing: Timing, itself: () => Stage): Stage => {
    const docs = [party.device?.doc, party.user?.doc].filter((doc) => doc !== undefined)
    const { first, later } = forwardingsFor(docs, place)
    const ofGroup = place.isDirect && !place.hasCompany ? 'alone' : 'beside phones'
    const forwarded = (forward: Forwarding, beside: Beside): Stage =>
      needsMediaServer(forward, beside)
        ? leftOut(...nameOfParty(party), 'needs_media_server')
        : forwardedTo(forward, party, place, timing)
    const ringFirst = (forward: Forwarding): Stage => {
      const beside = forward.isInstead ? ofGroup : 'beside phones'
      const isRung = !needsMediaServer(forward, beside)
      const number = forwarded(forward, beside)
      // Phones ring themselves when what should ring in their place is not rung.
      return forward.isInstead && isRung ? number : together([itself(), number])
    }
    const now = first ? ringFirst(first) : itself()
    return later.reduce<Stage>((stage, forward) => inOrder(stage, forwarded(forward, ofGroup)), now)
  }

  /** All devices of a user, whose own forwarding holds for all of them at once. */
  const ringUser = (id: string, place: Place, timing: Timing): Stage => {
    const user = ask('user', place.account.id, id)
    if (!user) return leftOut('user', id, 'not_found')
    const party = { account: place.account, user }
    const disabled = disabledPart(party)
    if (disabled) return leftOut('user', id, disabled)
    if (isUndisturbed(party)) return leftOut('user', id, 'do_not_disturb')
    return ringForwarding(party, place, timing, () => {
      const devices = ask('devicesOf', place.account.id, id) ?? []
      const there: Place = devices.length > 1 ? { ...place, hasCompany: true } : place
      const stage = together(devices.map((deviceId) => ringOwned(deviceId, there, timing)))
      return devices.length > 0 ? stage : leftOut('user', id, 'no_devices')
    })
  }

  /** A device of somebody whose forwarding is seen to already: only its own holds. */
  const ringOwned = (id: string, place: Place, timing: Timing): Stage => {
    const device = ask('device', place.account.id, id)
    const own = device && forwardingsFor([device.doc], place)
    const hasOwn = own && (own.first !== undefined || own.later.length > 0)
    return hasOwn ? ringDevice(id, place, timing) : ringPlain(id, place, timing)
  }

  const ringPlain = (id: string, place: Place, timing: Timing): Stage => {
    const device = ask('device', place.account.id, id)
    if (!device) return leftOut('device', id, 'not_found')
    if (id === question.deviceId && place.account.id === question.accountId)
      return leftOut('device', id, 'calls_itself')
    if (memberOf(device.doc, 'enabled') === false) return leftOut('device', id, 'device_disabled')
    if (isUndisturbed({ account: place.account, device })) return leftOut('device', id, 'do_not_disturb')
    return shown(phoneOf(device, partyAt(asking, place.account, device), timing), place.callerId)
  }

  const ringGroup = (id: string, place: Place, timing: Timing, groups: readonly string[]): Stage => {
    if (groups.includes(id)) return leftOut('group', id, 'circular')
    const group = ask('group', place.account.id, id)
    if (!group) return leftOut('group', id, 'not_found')
    const members = membersOf(group.doc.endpoints).map((member) => ({
      ...member,
      delay: member.delay + timing.delay,
      timeout: Math.min(member.timeout, timing.timeout),
    }))
    return ringMembers(members, place, [...groups, id])
  }

  const ringMember = (
    { type, id, delay, timeout }: Member,
    place: Place,
    groups: readonly string[],
  ): Stage => {
    rung += 1
    if (rung > maxRung) return leftOut(type, id, 'too_many')
    if (type === 'device') return ringDevice(id, place, { delay, timeout })
    if (type === 'user') return ringUser(id, place, { delay, timeout })
    return type === 'group'
      ? ringGroup(id, place, { delay, timeout }, groups)
      : leftOut(type, id, 'not_found')
  }

  const ringMembers = (members: readonly Member[], place: Place, groups: readonly string[] = []): Stage =>
    together(members.map((member) => ringMember(member, { ...place, isDirect: false }, groups)))

  const ringAll = (data: Readonly<Record<string, unknown>>, place: Place): Stage => {
    const once = ringMembers(inTurn(membersIn(data), data.strategy), place)
    const rounds = Array.from({ length: repeatsIn(data) - 1 }, () => ({ ...once, leftOut: [] }))
    return rounds.reduce<Stage>(inOrder, once)
  }

  const leave = (module: string, data: Readonly<Record<string, unknown>>, from: Place): Stage => {
    const place = { ...from, carriers: carriersIn(module, data) }
    const { to_did: fixed } = data
    const dialled = typeof fixed === 'string' && fixed !== '' ? dial(place.payer, fixed) : place.dialled
    return dialled ? outside(place, dialled, place.outsideId()) : ended({ reason: 'unknown_number' })
  }

  const jump = (id: unknown, place: Place): Stage => {
    const callflow = typeof id === 'string' ? ask('callflow', place.account.id, id) : undefined
    return callflow ? enter(callflow, place) : leftOut('callflow', String(id), 'not_found')
  }

  const take = (module: string, data: Readonly<Record<string, unknown>>, place: Place): Stage => {
    const id = typeof data.id === 'string' ? data.id : ''
    switch (module) {
      case 'device':
        return ringDevice(id, place, timingIn(data))
      case 'user':
        return ringUser(id, place, timingIn(data))
      case 'ring_group':
        return ringAll(data, place)
      case 'callflow':
        return jump(id, place)
      case 'resources':
      case 'offnet':
        return leave(module, data, place)
      case 'response':
        return ended(responseIn(data))
      case 'hangup':
        return ended({ reason: 'hung_up', sipCode: 603, sipReason: 'Decline' })
      default:
        return ended({ reason: 'needs_media_server', module })
    }
  }

  const walk = (flow: unknown, place: Place): Stage => {
    const step = stepAt(flow)
    if (!step) return nothing
    const stage = take(step.module, step.data, place)
    return stage.end || step.next === undefined ? stage : inOrder(stage, walk(step.next, place))
  }

  const enter = (callflow: CallflowFacts, place: Place): Stage => {
    const name = `${place.account.id}/${callflow.id}`
    if (place.path.includes(name) || place.path.length >= deepestPath)
      return leftOut('callflow', callflow.id, 'circular')
    return walk(callflow.doc.flow, { ...place, path: [...place.path, name] })
  }

  return {
    ask,
    isOpen,
    wantedBy,
    shownNumber,
    outsideIdOf,
    charges,
    dial,
    arrived,
    others,
    leftOver,
    gateways,
    enter,
    arriving,
    overTrunk,
    classificationOf: () => classification,
  }
}

export type Decision = ReturnType<typeof createDecision>
