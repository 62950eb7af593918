import type { Static } from 'typebox'
import { closed, integer, must, open } from '../../lib/schema.ts'

const counter = (description: string) => integer({ minimum: 0, description })

const PacketCounters = closed({
  registrations: counter('REGISTER packets'),
  invites: counter('INVITE packets'),
  total_packets: must(counter('Packets of any kind, replies included')),
})

export const DeviceRateLimits = open(
  { per_minute: must(PacketCounters), per_second: must(PacketCounters) },
  { title: 'Rate limits of a device' },
)

// The specification lets a POST "give only some keys"; clients expect 400 `device.required` when a section is missing.
// Both hold when "some" means the counters: sections, periods and total_packets are required, the other two are not.
export const AccountRateLimits = open(
  { account: must(DeviceRateLimits), device: must(DeviceRateLimits) },
  { title: 'Rate limits of an account' },
)

/** What a read answers: nothing at all where no limits are kept. */
export const AccountRateLimitsOrNone = open({ account: DeviceRateLimits, device: DeviceRateLimits })
export const DeviceRateLimitsOrNone = open({ per_minute: PacketCounters, per_second: PacketCounters })

export type DeviceRateLimits = Static<typeof DeviceRateLimits>
export type AccountRateLimits = Static<typeof AccountRateLimits>
