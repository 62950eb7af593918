import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import type { ActiveCall, Registration } from '../../../switch/media-switch.ts'
import type { Channel } from './schema.ts'

const told = ['direction', 'authorizing_id', 'authorizing_type', 'owner_id', 'interaction_id'] as const

/** The user of a SIP address. */
const userIn = (address: string) => /^sips?:([^@;?]+)@/i.exec(address)?.[1]

/** A call as clients read it. */
export const channelOf = (call: ActiveCall, nowMs: number): Channel => {
  const { variables, from, to, answered } = call
  const username = userIn(from)
  return {
    uuid: call.callId,
    answered: call.isAnswered,
    ...Object.fromEntries(
      told.flatMap((key) => (variables[key] === undefined ? [] : [[key, variables[key]]])),
    ),
    bridge_id: variables.bridge_id ?? variables.interaction_id ?? call.callId,
    from,
    to,
    destination: variables.to_number ?? userIn(to) ?? to,
    ...(username === undefined ? {} : { username }),
    timestamp: gregorianOfUnix(call.began),
    elapsed_s: answered === undefined ? 0 : Math.max(0, Math.floor(nowMs / 1000) - answered),
    node: call.edge,
  }
}

/** Whether a device has begun a call or has answered it. */
export const hasPart = ({ variables, called }: ActiveCall, deviceId: string) =>
  variables.authorizing_id === deviceId || (called?.type === 'device' && called.id === deviceId)

/** A SIP address without what is said about it. */
const bare = (address: string | undefined) => address?.split(';')[0]

/** Whether a call ends, or begins, at a contact: edges may have said more about it since. */
export const isAt = ({ contacts }: ActiveCall, { contact }: Pick<Registration, 'contact'>) =>
  bare(contacts.caller) === bare(contact) || bare(contacts.callee) === bare(contact)
