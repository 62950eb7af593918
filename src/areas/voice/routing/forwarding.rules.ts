// Where devices and users have their calls go instead, beside, or when nobody is there.
import { isObject } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'

/** One form of forwarding that is switched on. */
export interface Forwarding {
  number: string
  /** Nobody rings beside it. */
  isInstead: boolean
  /** Not for calls of groups. */
  isForDirectCalls: boolean
  keepsCallerId: boolean
  /** Whoever answers has to press a key, which a media server would have to hear. */
  asksForKey: boolean
}

/** Whether phones of others, or of whoever forwards, ring while the number does. */
export type Beside = 'alone' | 'beside phones'

/**
 * The key keeps a mailbox behind the number from taking a call for which phones still ring. Without a media server nobody
 * hears it: beside phones the number is not rung then; where it rings alone, that mailbox takes it from nobody.
 */
export const needsMediaServer = ({ asksForKey }: Forwarding, beside: Beside) =>
  asksForKey && beside === 'beside phones'

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

/** The forms of forwarding of a device or a user: `first` with the call, `later` when nobody takes it. */
interface Forwardings {
  first: Forwarding | undefined
  later: readonly Forwarding[]
}

/** What a record says of it. */
const saidBy = (doc: object): Forwardings => {
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

/** Those that hold for a call: the device's, where it says nothing the user's. */
export const forwardingsFor = (docs: readonly object[], { isDirect }: { isDirect: boolean }): Forwardings => {
  const holds = (form: Forwarding) => isDirect || !form.isForDirectCalls
  for (const doc of docs) {
    const { first, later } = saidBy(doc)
    const held = { first: first && holds(first) ? first : undefined, later: later.filter(holds) }
    if (held.first || held.later.length > 0) return held
  }
  return { first: undefined, later: [] }
}
