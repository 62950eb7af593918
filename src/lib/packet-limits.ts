import type { Static } from 'typebox'
import { joinProblems, type Problems } from './failure.ts'
import { isObject, type Json } from './json.ts'
import { closed, integer, open } from './schema.ts'

// Limits of SIP packets are part of accounts and devices. An absent value is inherited.

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

const sections = ['account', 'device']
const periods = ['per_minute', 'per_second']
const counters = Object.keys(PacketCounters.properties)

const limitNames = new Set([...sections, ...periods, ...counters])

/** A limit in the wrong section would have no effect: it is rejected. Other unknown keys are allowed. */
const strayIn = (limits: Readonly<Json>, known: readonly string[], message: string, at: string): Problems =>
  Object.fromEntries(
    Object.entries(limits)
      .filter(([key, value]) => !known.includes(key) && (isObject(value) || limitNames.has(key)))
      // Consoles send it.
      .filter(([key]) => key !== 'ui_metadata')
      .map(([key]) => [`${at}${key}`, { additionalProperties: { message, target: key } }]),
  )

/** `at`: prefix of the paths, with a dot at the end. */
export const deviceLimitProblems = (limits: Readonly<Json>, at = ''): Problems =>
  strayIn(limits, periods, 'The limits of a device have no sections: only per_minute and per_second', at)

const sectionProblems = (limits: Readonly<Json>, at: string): Problems[] =>
  sections.flatMap((section) => {
    const part = limits[section]
    const message = 'A section has the periods per_minute and per_second'
    return isObject(part) ? [strayIn(part, periods, message, `${at}${section}.`)] : []
  })

export const accountLimitProblems = (limits: Readonly<Json>, at = ''): Problems =>
  joinProblems(
    strayIn(limits, sections, 'The limits of an account are in its sections account and device', at),
    ...sectionProblems(limits, at),
  )
