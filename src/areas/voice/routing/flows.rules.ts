// What the steps and forwardings of flows contain.
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { isSipHost } from '../../../lib/sip-host.ts'
import { defaultResponseCode, defaultRingSeconds, maxRingSeconds } from './modules.schema.ts'
import type { CallEnding } from './stages.ts'

const numberIn = (value: unknown, least: number, most: number): number | undefined => {
  const number = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number)
    ? Math.min(most, Math.max(least, number))
    : undefined
}

/** Seconds after which something rings, and for how long. */
export interface Timing {
  delay: number
  timeout: number
}

export const timingIn = (data: unknown): Timing => ({
  delay: numberIn(memberOf(data, 'delay'), 0, maxRingSeconds) ?? 0,
  timeout: numberIn(memberOf(data, 'timeout'), 1, maxRingSeconds) ?? defaultRingSeconds,
})

export interface Member extends Timing {
  type: string
  id: string
  weight: number
}

const memberIn = (value: unknown, id: unknown, type: unknown): Member[] =>
  typeof id === 'string' && typeof type === 'string'
    ? [{ type, id, weight: numberIn(memberOf(value, 'weight'), 1, 100) ?? 1, ...timingIn(value) }]
    : []

/** Members in the data of a `ring_group`. */
export const membersIn = ({ endpoints }: Json): Member[] =>
  (Array.isArray(endpoints) ? endpoints : []).flatMap((value) =>
    memberIn(value, memberOf(value, 'id'), memberOf(value, 'endpoint_type')),
  )

/** Members of a group's record. */
export const membersOfGroup = (endpoints: unknown): Member[] =>
  Object.entries(isObject(endpoints) ? endpoints : {}).flatMap(([id, value]) =>
    memberIn(value, id, memberOf(value, 'type')),
  )

/** Members that ring in sequence: by weight if the strategy requires it. */
export const membersInTurn = (members: readonly Member[], strategy: unknown): Member[] => {
  if (strategy !== 'single' && strategy !== 'weighted_random') return [...members]
  const ordered = strategy === 'single' ? members : members.toSorted((a, b) => b.weight - a.weight)
  let begin = 0
  return ordered.map((member) => {
    const placed = { ...member, delay: begin }
    begin += member.timeout
    return placed
  })
}

export const repeatsIn = ({ repeats }: Json) => numberIn(repeats, 1, 10) ?? 1

/** The carriers that a call may use. Empty: all that its account may use. */
export interface CarrierWish {
  huntAccountId?: string
  isGlobalOnly?: true
  /** The domain of the caller in the call. */
  fromRealm?: string
}

/** `offnet` never uses carriers of accounts. */
export const carriersIn = (
  module: string,
  { use_local_resources: usesLocal, hunt_account_id: hunted, from_uri_realm: realm }: Json,
): CarrierWish => {
  const shown = typeof realm === 'string' && isSipHost(realm) ? { fromRealm: realm } : {}
  if (module === 'offnet' || usesLocal === false) return { ...shown, isGlobalOnly: true }
  return typeof hunted === 'string' && hunted !== '' ? { ...shown, huntAccountId: hunted } : shown
}

const plainText = (value: unknown) =>
  typeof value === 'string' ? value.replace(/[^\x20-\x7e]/g, '').slice(0, 64) : ''

export const responseIn = ({ code, message }: Json): CallEnding => {
  const sipReason = plainText(message)
  return {
    reason: 'response',
    sipCode: numberIn(code, 400, 699) ?? defaultResponseCode,
    ...(sipReason === '' ? {} : { sipReason }),
  }
}

/** A step, and what follows if no one takes the call. */
export const stepAt = (flow: unknown) =>
  isObject(flow) && typeof flow.module === 'string'
    ? {
        module: flow.module,
        data: isObject(flow.data) ? flow.data : {},
        next: memberOf(flow, 'children', '_'),
      }
    : undefined

export interface Forwarding {
  number: string
  /** Phones do not ring. */
  isInstead: boolean
  isForDirectCalls: boolean
  keepsCallerId: boolean
  /** The person who answers has to press a key, which only a media server can hear. */
  asksForKey: boolean
}

/** Whether phones ring at the same time. */
export type Beside = 'alone' | 'next to phones'

/**
 * The key press stops a mailbox behind the number from taking a call while phones still ring. Without a media
 * server it cannot be heard, so such a number rings only where no phones ring.
 */
export const needsMediaServer = ({ asksForKey }: Forwarding, beside: Beside) =>
  asksForKey && beside === 'next to phones'

const forwardingIn = (value: unknown): Forwarding | undefined => {
  const number = memberOf(value, 'number')
  if (!isObject(value) || value.enabled !== true || typeof number !== 'string' || number === '')
    return undefined
  return {
    number,
    isInstead: value.substitute !== false,
    isForDirectCalls: value.direct_calls_only === true,
    keepsCallerId: value.keep_caller_id !== false,
    asksForKey: value.require_keypress !== false,
  }
}

const forwardingsIn = (doc: object) => {
  const forward = memberOf(doc, 'call_forward')
  const plain = forwardingIn(forward)
  const isFailover = memberOf(forward, 'failover') === true
  const first = forwardingIn(memberOf(forward, 'unconditional')) ?? (isFailover ? undefined : plain)
  const later = [
    forwardingIn(memberOf(forward, 'busy')),
    forwardingIn(memberOf(forward, 'no_answer')),
    isFailover ? plain : undefined,
    forwardingIn(memberOf(doc, 'call_failover')),
  ].filter((form) => form !== undefined)
  return { first, later: [...new Map(later.map((form) => [form.number, form])).values()] }
}

/** The forwarding that applies: of the device, else of the user. */
export const forwardingsFor = (docs: readonly object[], { isDirect }: { isDirect: boolean }) => {
  const applies = (form: Forwarding) => isDirect || !form.isForDirectCalls
  for (const doc of docs) {
    const { first, later } = forwardingsIn(doc)
    const found = { first: first && applies(first) ? first : undefined, later: later.filter(applies) }
    if (found.first || found.later.length > 0) return found
  }
  return { first: undefined, later: [] }
}
