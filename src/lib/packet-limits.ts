import type { Static } from 'typebox'
import type { Problems } from './failure.ts'
import type { Json } from './json.ts'
import { closed, integer, open } from './schema.ts'

// How many SIP packets accounts and their devices may send: part of the records of both. Every figure may be left out:
// the next level says it then.

const counter = (description: string) => integer({ minimum: 0, description })

const PacketCounters = closed({
  registrations: counter('REGISTER packets'),
  invites: counter('INVITE packets'),
  total_packets: counter('Packets of any kind, replies included'),
})

export const DeviceRateLimits = open(
  { per_minute: PacketCounters, per_second: PacketCounters },
  { title: 'Rate limits of a device' },
)

export const AccountRateLimits = open(
  { account: DeviceRateLimits, device: DeviceRateLimits },
  { title: 'Rate limits of an account' },
)

export type DeviceRateLimits = Static<typeof DeviceRateLimits>
export type AccountRateLimits = Static<typeof AccountRateLimits>

// Other keys are kept, but not these: whoever writes them means something that would not hold.
const misplaced =
  (keys: readonly string[], message: string) =>
  (limits: Readonly<Json>, at = ''): Problems =>
    Object.fromEntries(
      keys
        .filter((key) => key in limits)
        .map((key) => [`${at}${key}`, { additionalProperties: { message, target: key } }]),
    )

/** What of the limits of an account stands where only those of a device have it. `at`: with a dot behind. */
export const accountLimitProblems = misplaced(
  ['per_minute', 'per_second'],
  'The limits of an account stand in its sections account and device',
)

/** What of the limits of a device stands where only those of an account have it. */
export const deviceLimitProblems = misplaced(
  ['account', 'device'],
  'The limits of a device have no sections: only per_minute and per_second',
)
