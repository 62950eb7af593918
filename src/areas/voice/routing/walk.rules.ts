// What a call comes to on its way through flows: whom each step rings, what follows it, and where it leaves.
import { type Json, present } from '../../../lib/json.ts'
import { isSipHost, isSipUser, type SipPlace, sipAddress, sipPlaceIn } from '../../../lib/sip-host.ts'
import type { TrunkTarget } from '../connectivity/rules.ts'
import { isRegistrable } from '../devices/rules.ts'
import type { Reached } from '../resources/hosts.rules.ts'
import {
  type Call,
  type CallPlace,
  callflowFor,
  callflowListing,
  type Dialled,
  dial,
  gateways,
  hasOpenFacts,
  isForeignNumber,
  numberOf,
  outsideIdOf,
  outsideSeconds,
  paymentOf,
  stageFor,
} from './call.rules.ts'
import {
  type CallerId,
  type CallParty,
  internalId,
  isRestricted,
  partyAt,
  presenceOf,
  unreachableReason,
} from './callers.rules.ts'
import type { AccountFacts, CallflowFacts, DeviceFacts } from './facts.ts'
import {
  type Beside,
  carriersIn,
  type Forwarding,
  forwardingsFor,
  type Member,
  membersIn,
  membersInTurn,
  membersOfGroup,
  needsMediaServer,
  repeatsIn,
  responseIn,
  stepAt,
  type Timing,
  timingIn,
} from './flows.rules.ts'
import { delayed, endingStage, leftOut, noStage, ringInOrder, ringTogether, type Stage } from './stages.ts'

// Bounds for groups in groups, and for flows that forward to flows.
const maxRung = 500
const deepestPath = 10

/** Where a call to a device is sent that does not register. */
type Sent = Reached & { called?: string; account_billing?: string }

/** A number that leaves over carriers, if the payer can pay for it. */
const overCarriers = (call: Call, place: CallPlace, dialled: Dialled, callerId: CallerId): Stage => {
  const { account } = place
  const number = numberOf(dialled)
  return stageFor(paymentOf(call, account, dialled.classification), ['number', number], (paid) => {
    const stage = gateways(call, place, dialled, callerId)
    if (stage.targets.length > 0) call.charges.push({ account: account.id, calls: paid.calls })
    const targets = stage.targets.map((target) => ({
      ...target,
      called: number,
      account_billing: paid.billing,
    }))
    return { ...stage, targets }
  })
}

/** A number outside of the account: of another account here, or somewhere in the world. */
const outside = (call: Call, place: CallPlace, dialled: Dialled, callerId: CallerId): Stage => {
  const { phone, classification } = dialled
  call.classification ??= classification
  if (dialled.isEmergency || isRestricted(place.payer, classification))
    return leftOut('number', numberOf(dialled), 'forbidden_classifier')
  if (phone === undefined) return leftOut('number', numberOf(dialled), 'unknown_number')
  const owner = call.ask('numberOwner', '', phone)
  if (!owner || owner.mustLeave) return overCarriers(call, place, dialled, callerId)
  const account = call.ask('account', owner.accountId)
  if (!account) return noStage
  return account.isTold
    ? arriving(call, account, { ...dialled, text: phone }, callerId, place.path)
    : overCarriers(call, place, dialled, callerId)
}

/** Where a call to a place is sent now. A text: why it is not sent. Undefined: not known yet. */
const reach = (
  call: Call,
  account: AccountFacts,
  { user, ...host }: SipPlace,
): Reached | string | undefined => {
  const reached = call.ask('destination', account.id, JSON.stringify(host))
  if (reached) return { ...reached, uri: sipAddress({ ...host, user }) }
  return hasOpenFacts(call) ? undefined : 'forbidden_destination'
}

/**
 * A call to a SIP URI that a customer has written: it leaves the platform, is restricted like a call to the number that
 * the URI names, and is paid for. A text: why it is not made.
 */
const sentOutside = (call: Call, party: CallParty, place: SipPlace): Sent | string | undefined => {
  const { account } = party
  const dialled = place.user === undefined ? undefined : dial(call, party, place.user)
  const name = dialled?.classification
  if (dialled?.isEmergency || isRestricted(party, name)) return 'forbidden_classifier'
  const paid = paymentOf(call, account, name)
  if (paid === undefined || typeof paid === 'string') return paid
  const reached = reach(call, account, place)
  if (reached === undefined || typeof reached === 'string') return reached
  call.classification ??= name
  call.charges.push({ account: account.id, calls: paid.calls })
  return { ...reached, called: dialled?.phone ?? place.user ?? place.host, account_billing: paid.billing }
}

/**
 * The place of a device that does not register. Without a `place` the record has no valid SIP URI. `isOffNet`: the record
 * has any SIP URI, so a call to it leaves the platform; otherwise the place is the account's own PBX.
 */
const fixedPlaceOf = ({ doc: { sip } }: DeviceFacts) => {
  if (sip?.method === 'ip') {
    const { ip = '', username = '' } = sip
    const place = { host: ip, ...(isSipUser(username) ? { user: username } : {}) }
    return { place: isSipHost(ip) ? place : undefined, isOffNet: false }
  }
  if (sip?.invite_format !== 'route' || !sip.route) return undefined
  return { place: sipPlaceIn(sip.route), isOffNet: true }
}

const targetOfDevice = (
  { id, doc: { sip, owner_id } }: DeviceFacts,
  party: CallParty,
  { delay, timeout }: Timing,
  sent?: Sent,
): Stage => {
  const { account } = party
  const realm = sip?.realm ?? account.doc.realm
  const target = {
    type: 'device' as const,
    device_id: id,
    ...present({ username: sip?.username || undefined, owner_id, presence_id: presenceOf(party, realm) }),
    realm,
    ...sent,
    account_id: account.id,
    delay_s: delay,
    timeout_s: timeout,
  }
  return { targets: [target], leftOut: [], seconds: delay + timeout }
}

const stageOfDevice = (call: Call, device: DeviceFacts, party: CallParty, timing: Timing): Stage => {
  const { sip, device_type: type } = device.doc
  const fixed = fixedPlaceOf(device)
  if (!fixed)
    return sip?.username && isRegistrable(type)
      ? targetOfDevice(device, party, timing)
      : leftOut('device', device.id, 'not_registrable')
  const { place, isOffNet } = fixed
  if (!place) return leftOut('device', device.id, 'forbidden_destination')
  const leaves = isOffNet || isForeignNumber(call, party.account, place.user)
  const sent = leaves ? sentOutside(call, party, place) : reach(call, party.account, place)
  return stageFor<Sent>(sent, ['device', device.id], (to) => targetOfDevice(device, party, timing, to))
}

/** Where the calls go that a server does not take. */
const failedOver = (
  call: Call,
  { failover = {}, trunk_id, server }: TrunkTarget,
  dialled: Dialled,
  place: CallPlace,
): Stage => {
  const { number, uri, user } = failover
  const payer = { account: place.account }
  if (number !== undefined)
    return outside(call, { ...place, payer }, dial(call, payer, number), place.outsideId())
  const wanted = uri === undefined ? undefined : sipPlaceIn(uri)
  if (!wanted) return noStage
  const called = user ?? numberOf(dialled)
  const sent = sentOutside(call, payer, { ...wanted, user: called })
  return stageFor(sent, ['trunk', trunk_id], (to) => {
    const target = {
      ...to,
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
  })
}

const toServer = (call: Call, trunk: TrunkTarget, account: AccountFacts, callerId: CallerId): Stage => {
  const { failover: _, isRenamed, ...server } = trunk
  const target = { timeout_s: outsideSeconds, ...server, account_id: account.id, caller_id: callerId }
  const stage = { targets: [target], leftOut: [], seconds: trunk.delay_s + target.timeout_s }
  const { uri } = trunk
  if (uri === undefined) return stage
  const place = sipPlaceIn(uri)
  if (!place) return leftOut('trunk', trunk.trunk_id, 'forbidden_destination')
  const leaves = isRenamed && isForeignNumber(call, account, trunk.number)
  const sent = leaves
    ? sentOutside(call, { account }, { ...place, user: trunk.number })
    : reach(call, account, place)
  return stageFor<Sent>(sent, ['trunk', trunk.trunk_id], (to) => ({
    ...stage,
    targets: [{ ...target, ...to, uri }],
  }))
}

/** The account's own server that takes the calls of a number. Undefined: no server does. */
export const overTrunk = (call: Call, dialled: Dialled, place: CallPlace): Stage | undefined => {
  const { account, callerId, path } = place
  const number = numberOf(dialled)
  const trunk = dialled.phone === undefined ? undefined : call.ask('trunk', account.id, dialled.phone)
  if (trunk === undefined) return undefined
  if (trunk === 'disabled') return leftOut('number', number, 'trunk_disabled')
  const name = `${account.id}/trunk/${number}`
  if (path.includes(name) || path.length >= deepestPath) return leftOut('number', number, 'circular')
  const stage = toServer(call, trunk, account, callerId)
  return ringInOrder(stage, failedOver(call, trunk, dialled, { ...place, path: [...path, name] }))
}

/** A call that comes to an account from outside of it. */
export const arriving = (
  call: Call,
  account: AccountFacts,
  dialled: Dialled,
  callerId: CallerId,
  path: readonly string[] = [],
): Stage => {
  if (account.isDisabled) return leftOut('account', account.id, 'account_disabled')
  const callflow = callflowFor(call, account.id, dialled)
  const place: CallPlace = {
    account,
    path,
    dialled: undefined,
    payer: { account },
    callerId,
    outsideId: () => callerId,
    isDirect: true,
  }
  if (callflow) return enter(call, callflow, place)
  return overTrunk(call, dialled, place) ?? leftOut('number', numberOf(dialled), 'unknown_number')
}

const forwardedTo = (
  call: Call,
  forward: Forwarding,
  party: CallParty,
  place: CallPlace,
  { delay }: Timing,
): Stage => {
  const dialled = dial(call, party, forward.number)
  const callflow = dialled.isEmergency ? undefined : callflowListing(call, place.account.id, dialled)
  const outsideId = forward.keepsCallerId ? place.outsideId : () => outsideIdOf(call, party)
  const callerId = forward.keepsCallerId ? place.callerId : internalId(party, undefined)
  const further = { ...place, payer: party, dialled: undefined, callerId, outsideId, isDirect: true }
  const stage = callflow ? enter(call, callflow, further) : outside(call, further, dialled, outsideId())
  const targets = stage.targets.map((target) => ({ ...target, isForwarded: true }))
  return delayed({ ...stage, targets }, delay)
}

const ringForwarding = (
  call: Call,
  party: CallParty,
  place: CallPlace,
  timing: Timing,
  ringItself: () => Stage,
): Stage => {
  const { device, user } = party
  const docs = [device?.doc, user?.doc].filter((doc) => doc !== undefined)
  const { first, later } = forwardingsFor(docs, place)
  const usual = place.isDirect && !place.hasCompany ? 'alone' : 'beside phones'
  const forwarded = (forward: Forwarding, beside: Beside): Stage =>
    needsMediaServer(forward, beside)
      ? leftOut(device ? 'device' : 'user', device?.id ?? user?.id ?? '', 'needs_media_server')
      : forwardedTo(call, forward, party, place, timing)
  const ringFirst = (forward: Forwarding): Stage => {
    const beside = forward.isInstead ? usual : 'beside phones'
    const number = forwarded(forward, beside)
    // Phones ring themselves if the number that should ring instead does not.
    const isAlone = forward.isInstead && !needsMediaServer(forward, beside)
    return isAlone ? number : ringTogether([ringItself(), number])
  }
  const now = first ? ringFirst(first) : ringItself()
  return later.reduce<Stage>((stage, forward) => ringInOrder(stage, forwarded(forward, usual)), now)
}

/** `isForwardedByUser`: the forwarding of the device's user was applied before, so only its own applies here. */
const ringDevice = (
  call: Call,
  id: string,
  place: CallPlace,
  timing: Timing,
  isForwardedByUser = false,
): Stage => {
  const { account } = place
  const device = call.ask('device', account.id, id)
  if (!device) return leftOut('device', id, 'not_found')
  if (id === call.query.deviceId && account.id === call.query.accountId)
    return leftOut('device', id, 'calls_itself')
  const { first, later } = forwardingsFor([device.doc], place)
  const isPlain = isForwardedByUser && first === undefined && later.length === 0
  const party = partyAt(call, account, device)
  const reason = unreachableReason(isPlain ? { account, device } : party)
  if (reason) return leftOut('device', id, reason)
  const ringItself = () => {
    const stage = stageOfDevice(call, device, party, timing)
    return { ...stage, targets: stage.targets.map((target) => ({ ...target, caller_id: place.callerId })) }
  }
  return isPlain ? ringItself() : ringForwarding(call, party, place, timing, ringItself)
}

/** All devices of a user, whose own forwarding holds for all of them at once. */
const ringUser = (call: Call, id: string, place: CallPlace, timing: Timing): Stage => {
  const { account } = place
  const user = call.ask('user', account.id, id)
  if (!user) return leftOut('user', id, 'not_found')
  const party = { account, user }
  const reason = unreachableReason(party)
  if (reason) return leftOut('user', id, reason)
  return ringForwarding(call, party, place, timing, () => {
    const devices = call.ask('devicesOf', account.id, id) ?? []
    if (devices.length === 0) return leftOut('user', id, 'no_devices')
    const there: CallPlace = devices.length > 1 ? { ...place, hasCompany: true } : place
    return ringTogether(devices.map((deviceId) => ringDevice(call, deviceId, there, timing, true)))
  })
}

const ringGroup = (
  call: Call,
  id: string,
  place: CallPlace,
  timing: Timing,
  groups: readonly string[],
): Stage => {
  if (groups.includes(id)) return leftOut('group', id, 'circular')
  const group = call.ask('group', place.account.id, id)
  if (!group) return leftOut('group', id, 'not_found')
  const members = membersOfGroup(group.doc.endpoints).map((member) => ({
    ...member,
    delay: member.delay + timing.delay,
    timeout: Math.min(member.timeout, timing.timeout),
  }))
  return ringMembers(call, members, place, [...groups, id])
}

const ringMember = (call: Call, member: Member, place: CallPlace, groups: readonly string[]): Stage => {
  const { type, id } = member
  call.rung += 1
  if (call.rung > maxRung) return leftOut(type, id, 'too_many')
  if (type === 'device') return ringDevice(call, id, place, member)
  if (type === 'user') return ringUser(call, id, place, member)
  return type === 'group' ? ringGroup(call, id, place, member, groups) : leftOut(type, id, 'not_found')
}

const ringMembers = (
  call: Call,
  members: readonly Member[],
  place: CallPlace,
  groups: readonly string[] = [],
): Stage =>
  ringTogether(members.map((member) => ringMember(call, member, { ...place, isDirect: false }, groups)))

const ringAll = (call: Call, data: Json, place: CallPlace): Stage => {
  const once = ringMembers(call, membersInTurn(membersIn(data), data.strategy), place)
  const rounds = Array.from({ length: repeatsIn(data) - 1 }, () => ({ ...once, leftOut: [] }))
  return rounds.reduce<Stage>(ringInOrder, once)
}

const leave = (call: Call, module: string, data: Json, from: CallPlace): Stage => {
  const place = { ...from, carriers: carriersIn(module, data) }
  const { to_did: fixed } = data
  const dialled = typeof fixed === 'string' && fixed !== '' ? dial(call, place.payer, fixed) : place.dialled
  return dialled
    ? outside(call, place, dialled, place.outsideId())
    : endingStage({ reason: 'unknown_number' })
}

const jump = (call: Call, id: string, place: CallPlace): Stage => {
  const callflow = call.ask('callflow', place.account.id, id)
  return callflow ? enter(call, callflow, place) : leftOut('callflow', id, 'not_found')
}

const take = (call: Call, module: string, data: Json, place: CallPlace): Stage => {
  const id = typeof data.id === 'string' ? data.id : ''
  switch (module) {
    case 'device':
      return ringDevice(call, id, place, timingIn(data))
    case 'user':
      return ringUser(call, id, place, timingIn(data))
    case 'ring_group':
      return ringAll(call, data, place)
    case 'callflow':
      return jump(call, id, place)
    case 'resources':
    case 'offnet':
      return leave(call, module, data, place)
    case 'response':
      return endingStage(responseIn(data))
    case 'hangup':
      return endingStage({ reason: 'hung_up', sipCode: 603, sipReason: 'Decline' })
    default:
      return endingStage({ reason: 'needs_media_server', module })
  }
}

const walk = (call: Call, flow: unknown, place: CallPlace): Stage => {
  const step = stepAt(flow)
  if (!step) return noStage
  const stage = take(call, step.module, step.data, place)
  return stage.end || step.next === undefined ? stage : ringInOrder(stage, walk(call, step.next, place))
}

export const enter = (call: Call, callflow: CallflowFacts, place: CallPlace): Stage => {
  const name = `${place.account.id}/${callflow.id}`
  if (place.path.includes(name) || place.path.length >= deepestPath)
    return leftOut('callflow', callflow.id, 'circular')
  return walk(call, callflow.doc.flow, { ...place, path: [...place.path, name] })
}
