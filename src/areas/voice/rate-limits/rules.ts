import { memberOf } from '../../../lib/member.ts'
import type { AccountRateLimits, DeviceRateLimits } from '../../../lib/packet-limits.ts'

const periods = ['per_minute', 'per_second'] as const
const counters = ['registrations', 'invites', 'total_packets'] as const

type Period = (typeof periods)[number]
type Counter = (typeof counters)[number]

export type EffectiveLimits = Record<Period, Record<Counter, number>>
type SystemLimits = Record<'account' | 'device', EffectiveLimits>

type PartialLimits = { [P in Period]?: { [C in Counter]?: number } }

const limitsFrom = (limitOf: (period: Period, counter: Counter) => number): EffectiveLimits => {
  const of = (period: Period) => ({
    registrations: limitOf(period, 'registrations'),
    invites: limitOf(period, 'invites'),
    total_packets: limitOf(period, 'total_packets'),
  })
  return { per_minute: of('per_minute'), per_second: of('per_second') }
}

/** For unknown realms: every packet is over the limit. */
export const unknownRealmLimits: EffectiveLimits = limitsFrom(() => -1)

export const standardSystemLimits: SystemLimits = {
  account: {
    per_minute: { registrations: 100, invites: 200, total_packets: 2000 },
    per_second: { registrations: 20, invites: 50, total_packets: 100 },
  },
  device: {
    per_minute: { registrations: 20, invites: 100, total_packets: 1000 },
    per_second: { registrations: 2, invites: 5, total_packets: 20 },
  },
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0

/** `frontier.rate_limits`, with the standard value instead of each invalid one. */
export const systemLimitsOf = (configured: unknown): SystemLimits => {
  const sectionOf = (section: 'account' | 'device') =>
    limitsFrom((period, counter) => {
      const value = memberOf(configured, section, period, counter)
      return isCount(value) ? value : standardSystemLimits[section][period][counter]
    })
  return { account: sectionOf('account'), device: sectionOf('device') }
}

const firstFound = (layers: readonly (PartialLimits | undefined)[], last: EffectiveLimits) =>
  limitsFrom(
    (period, counter) =>
      layers.map((layer) => layer?.[period]?.[counter]).find((value) => value !== undefined) ??
      last[period][counter],
  )

/** An account inherits only counters that the account above limits in both periods. */
const inherited = (limits: DeviceRateLimits = {}): PartialLimits => {
  const handedDown = (period: Period) => {
    const isComplete = (counter: Counter) => periods.every((each) => limits[each]?.[counter] !== undefined)
    return Object.fromEntries(
      counters.filter(isComplete).map((counter) => [counter, limits[period]?.[counter]]),
    )
  }
  return { per_minute: handedDown('per_minute'), per_second: handedDown('per_second') }
}

/** Each value comes from the first level that has it. `ancestors`: nearest first. */
export const accountLimits = ({
  account,
  ancestors,
  system,
}: {
  account: AccountRateLimits | undefined
  ancestors: readonly (AccountRateLimits | undefined)[]
  system: SystemLimits
}) => firstFound([account?.account, ...ancestors.map((above) => inherited(above?.account))], system.account)

export const deviceLimits = (given: {
  device: DeviceRateLimits | undefined
  account: AccountRateLimits | undefined
  system: SystemLimits
}) => firstFound([given.device, given.account?.device], given.system.device)
