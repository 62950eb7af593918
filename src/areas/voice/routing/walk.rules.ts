// Follows a call through flows: the targets of each step, the next step, and where the call leaves.
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
import { isServed } from './modules.schema.ts'
import {
  delayed,
  endingStage,
  leftOut,
  noStage,
  ringInOrder,
  ringing,
  ringTogether,
  type Stage,
} from './stages.ts'

// Bounds for groups in groups, and for flows that forward to flows.
const maxRung = 500
const deepestPath = 10

/** Destination of a call to a device that does not register. */
type Sent = Reached & { called?: string; account_billing?: string }

/** The place within a callflow or trunk. Undefined: the call was there before, or came too deep. */
const within = (place: CallPlace, name: string): CallPlace | undefined =>
  place.path.includes(name) || place.path.length >= deepestPath
    ? undefined
    : { ...place, path: [...place.path, name] }

/** A number that leaves over carriers, if the payer can pay for it. */
const overCarriers = (place: CallPlace, dialled: Dialled, callerId: CallerId): Stage => {
  const { call, account } = place
  const number = numberOf(dialled)
  return stageFor(paymentOf(call, account, dialled.classification), ['number', number], (paid) => {
    const stage = gateways(place, dialled, callerId)
    if (stage.targets.length > 0) call.charges.push({ account: account.id, calls: paid.calls })
    const leg = { called: number, account_billing: paid.billing }
    return { ...stage, targets: stage.targets.map((target) => ({ ...target, ...leg })) }
  })
}

/** A number outside of the account: of another account here, or somewhere in the world. */
const outside = (place: CallPlace, dialled: Dialled, callerId: CallerId): Stage => {
  const { call } = place
  const { phone, classification } = dialled
  call.classification ??= classification
  if (dialled.isEmergency || isRestricted(place.payer, classification))
    return leftOut('number', numberOf(dialled), 'forbidden_classifier')
  if (phone === undefined) return leftOut('number', numberOf(dialled), 'unknown_number')
  const owner = call.ask('numberOwner', '', phone)
  if (!owner || owner.mustLeave) return overCarriers(place, dialled, callerId)
  const account = call.ask('account', owner.accountId)
  if (!account) return noStage
  return account.isTold
    ? arriving(call, account, { ...dialled, text: phone }, callerId, place.path)
    : overCarriers(place, dialled, callerId)
}

/** Current destination of a call. A text: the reason why it fails. Undefined: not looked up yet. */
const reach = (call: Call, account: AccountFacts, { user, ...host }: SipPlace): Sent | string | undefined => {
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

const stageOfDevice = (place: CallPlace, device: DeviceFacts, party: CallParty, timing: Timing): Stage => {
  const { call, account } = place
  const { sip, device_type: type, owner_id } = device.doc
  const realm = sip?.realm ?? account.doc.realm
  const ring = (sent?: Sent) =>
    ringing({
      type: 'device',
      device_id: device.id,
      ...present({ username: sip?.username || undefined, owner_id, presence_id: presenceOf(party, realm) }),
      realm,
      ...sent,
      account_id: account.id,
      delay_s: timing.delay,
      timeout_s: timing.timeout,
      caller_id: place.callerId,
    })
  const fixed = fixedPlaceOf(device)
  if (!fixed)
    return sip?.username && isRegistrable(type) ? ring() : leftOut('device', device.id, 'not_registrable')
  const { place: at, isOffNet } = fixed
  if (!at) return leftOut('device', device.id, 'forbidden_destination')
  const leaves = isOffNet || isForeignNumber(call, account, at.user)
  return stageFor(
    leaves ? sentOutside(call, party, at) : reach(call, account, at),
    ['device', device.id],
    ring,
  )
}

/** Failover destination of the calls of a server. */
const failedOver = (
  place: CallPlace,
  { failover = {}, trunk_id, server }: TrunkTarget,
  dialled: Dialled,
): Stage => {
  const { call, account } = place
  const { number, uri, user } = failover
  const payer = { account }
  if (number !== undefined) return outside({ ...place, payer }, dial(call, payer, number), place.outsideId())
  const wanted = uri === undefined ? undefined : sipPlaceIn(uri)
  if (!wanted) return noStage
  const called = user ?? numberOf(dialled)
  const sent = sentOutside(call, payer, { ...wanted, user: called })
  return stageFor(sent, ['trunk', trunk_id], (to) =>
    ringing({
      ...to,
      type: 'trunk',
      trunk_id,
      server,
      account_id: account.id,
      caller_id: place.outsideId(),
      number: called,
      uri: sipAddress(wanted),
      delay_s: 0,
      timeout_s: outsideSeconds,
    }),
  )
}

const toServer = ({ call, account, callerId }: CallPlace, trunk: TrunkTarget): Stage => {
  const { failover: _, isRenamed, ...server } = trunk
  const target = { timeout_s: outsideSeconds, ...server, account_id: account.id, caller_id: callerId }
  const { uri } = trunk
  if (uri === undefined) return ringing(target)
  const place = sipPlaceIn(uri)
  if (!place) return leftOut('trunk', trunk.trunk_id, 'forbidden_destination')
  const sent =
    isRenamed && isForeignNumber(call, account, trunk.number)
      ? sentOutside(call, { account }, { ...place, user: trunk.number })
      : reach(call, account, place)
  return stageFor(sent, ['trunk', trunk.trunk_id], (to) => ringing({ ...target, ...to, uri }))
}

/** The account's own server that takes the calls of a number. Undefined: no server does. */
export const overTrunk = (place: CallPlace, dialled: Dialled): Stage | undefined => {
  const { call, account } = place
  const number = numberOf(dialled)
  const trunk = dialled.phone === undefined ? undefined : call.ask('trunk', account.id, dialled.phone)
  if (trunk === undefined) return undefined
  if (trunk === 'disabled') return leftOut('number', number, 'trunk_disabled')
  const inner = within(place, `${account.id}/trunk/${number}`)
  if (!inner) return leftOut('number', number, 'circular')
  return ringInOrder(toServer(place, trunk), failedOver(inner, trunk, dialled))
}

/** A call to an account from outside of it. */
export const arriving = (
  call: Call,
  account: AccountFacts,
  dialled: Dialled,
  callerId: CallerId,
  path: readonly string[] = [],
): Stage => {
  if (account.isDisabled) return leftOut('account', account.id, 'account_disabled')
  const callflow = callflowFor(call, account.id, dialled)
  const outsideId = () => callerId
  const payer = { account }
  const place = { call, account, path, dialled: undefined, payer, callerId, outsideId, isDirect: true }
  if (callflow) return enter(place, callflow)
  return overTrunk(place, dialled) ?? leftOut('number', numberOf(dialled), 'unknown_number')
}

const forwardedTo = (place: CallPlace, forward: Forwarding, party: CallParty, { delay }: Timing): Stage => {
  const { call } = place
  const dialled = dial(call, party, forward.number)
  const callflow = dialled.isEmergency ? undefined : callflowListing(call, place.account.id, dialled)
  const outsideId = forward.keepsCallerId ? place.outsideId : () => outsideIdOf(call, party)
  const callerId = forward.keepsCallerId ? place.callerId : internalId(party, undefined)
  const further = { ...place, payer: party, dialled: undefined, callerId, outsideId, isDirect: true }
  const stage = callflow ? enter(further, callflow) : outside(further, dialled, outsideId())
  const targets = stage.targets.map((target) => ({ ...target, isForwarded: true }))
  return delayed({ ...stage, targets }, delay)
}

const ringForwarding = (
  place: CallPlace,
  party: CallParty,
  timing: Timing,
  ringItself: () => Stage,
): Stage => {
  const { device, user } = party
  const docs = [device?.doc, user?.doc].filter((doc) => doc !== undefined)
  const { first, later } = forwardingsFor(docs, place)
  const usual = place.isDirect && !place.hasCompany ? 'alone' : 'next to phones'
  const forwarded = (forward: Forwarding, beside: Beside): Stage =>
    needsMediaServer(forward, beside)
      ? leftOut(device ? 'device' : 'user', device?.id ?? user?.id ?? '', 'needs_media_server')
      : forwardedTo(place, forward, party, timing)
  const ringFirst = (forward: Forwarding): Stage => {
    const beside = forward.isInstead ? usual : 'next to phones'
    const number = forwarded(forward, beside)
    // Phones ring themselves if the number that should ring instead does not.
    const isAlone = forward.isInstead && !needsMediaServer(forward, beside)
    return isAlone ? number : ringTogether([ringItself(), number])
  }
  const now = first ? ringFirst(first) : ringItself()
  return later.reduce<Stage>((stage, forward) => ringInOrder(stage, forwarded(forward, usual)), now)
}

/** `isForwardedByUser`: the forwarding of the device's user was applied before, so only its own applies here. */
const ringDevice = (place: CallPlace, id: string, timing: Timing, isForwardedByUser = false): Stage => {
  const { call, account } = place
  const device = call.ask('device', account.id, id)
  if (!device) return leftOut('device', id, 'not_found')
  if (id === call.query.deviceId && account.id === call.query.accountId)
    return leftOut('device', id, 'calls_itself')
  const { first, later } = forwardingsFor([device.doc], place)
  const isPlain = isForwardedByUser && first === undefined && later.length === 0
  const party = partyAt(call, account, device)
  const reason = unreachableReason(isPlain ? { account, device } : party)
  if (reason) return leftOut('device', id, reason)
  const ringItself = () => stageOfDevice(place, device, party, timing)
  return isPlain ? ringItself() : ringForwarding(place, party, timing, ringItself)
}

/** All devices of a user; the user's forwarding applies to all of them at once. */
const ringUser = (place: CallPlace, id: string, timing: Timing): Stage => {
  const { call, account } = place
  const user = call.ask('user', account.id, id)
  if (!user) return leftOut('user', id, 'not_found')
  const party = { account, user }
  const reason = unreachableReason(party)
  if (reason) return leftOut('user', id, reason)
  return ringForwarding(place, party, timing, () => {
    const devices = call.ask('devicesOf', account.id, id) ?? []
    if (devices.length === 0) return leftOut('user', id, 'no_devices')
    const there: CallPlace = devices.length > 1 ? { ...place, hasCompany: true } : place
    return ringTogether(devices.map((deviceId) => ringDevice(there, deviceId, timing, true)))
  })
}

const ringGroup = (place: CallPlace, { id, delay, timeout }: Member): Stage => {
  const { groups = [] } = place
  if (groups.includes(id)) return leftOut('group', id, 'circular')
  const group = place.call.ask('group', place.account.id, id)
  if (!group) return leftOut('group', id, 'not_found')
  const members = membersOfGroup(group.doc.endpoints).map((member) => ({
    ...member,
    delay: member.delay + delay,
    timeout: Math.min(member.timeout, timeout),
  }))
  return ringMembers({ ...place, groups: [...groups, id] }, members)
}

const ringMember = (place: CallPlace, member: Member): Stage => {
  const { type, id } = member
  place.call.rung += 1
  if (place.call.rung > maxRung) return leftOut(type, id, 'too_many')
  if (type === 'device') return ringDevice(place, id, member)
  if (type === 'user') return ringUser(place, id, member)
  return type === 'group' ? ringGroup(place, member) : leftOut(type, id, 'not_found')
}

const ringMembers = (place: CallPlace, members: readonly Member[]): Stage =>
  ringTogether(members.map((member) => ringMember({ ...place, isDirect: false }, member)))

const ringAll = (place: CallPlace, data: Json): Stage => {
  const once = ringMembers({ ...place, groups: [] }, membersInTurn(membersIn(data), data.strategy))
  const rounds = Array.from({ length: repeatsIn(data) - 1 }, () => ({ ...once, leftOut: [] }))
  return rounds.reduce<Stage>(ringInOrder, once)
}

const leave = (from: CallPlace, module: string, data: Json): Stage => {
  const place = { ...from, carriers: carriersIn(module, data) }
  const { to_did: fixed } = data
  const isFixed = typeof fixed === 'string' && fixed !== ''
  const dialled = isFixed ? dial(place.call, place.payer, fixed) : place.dialled
  return dialled ? outside(place, dialled, place.outsideId()) : endingStage({ reason: 'unknown_number' })
}

const jump = (place: CallPlace, id: string): Stage => {
  const callflow = place.call.ask('callflow', place.account.id, id)
  return callflow ? enter(place, callflow) : leftOut('callflow', id, 'not_found')
}

const take = (place: CallPlace, module: string, data: Json): Stage => {
  if (!isServed(module)) return endingStage({ reason: 'needs_media_server', module })
  const id = typeof data.id === 'string' ? data.id : ''
  switch (module) {
    case 'device':
      return ringDevice(place, id, timingIn(data))
    case 'user':
      return ringUser(place, id, timingIn(data))
    case 'ring_group':
      return ringAll(place, data)
    case 'callflow':
      return jump(place, id)
    case 'resources':
    case 'offnet':
      return leave(place, module, data)
    case 'response':
      return endingStage(responseIn(data))
    case 'hangup':
      return endingStage({ reason: 'hung_up', sipCode: 603, sipReason: 'Decline' })
  }
}

const walk = (place: CallPlace, flow: unknown): Stage => {
  const step = stepAt(flow)
  if (!step) return noStage
  const stage = take(place, step.module, step.data)
  return stage.end || step.next === undefined ? stage : ringInOrder(stage, walk(place, step.next))
}

export const enter = (place: CallPlace, callflow: CallflowFacts): Stage => {
  const inner = within(place, `${place.account.id}/${callflow.id}`)
  return inner ? walk(inner, callflow.doc.flow) : leftOut('callflow', callflow.id, 'circular')
}
