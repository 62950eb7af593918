import type { Cdr } from '../src/areas/calls/cdrs/schema.ts'
import { gregorianOfUnix } from '../src/lib/gregorian.ts'
import { personOf, type Tongue } from './people.ts'
import { createRandom, type Random, splitBy } from './random.ts'

const night = [0, 0, 0, 0, 0, 0]

/** When a company telephones, in local time: a weight for each hour from midnight, and for each day from Sunday. */
const volumes = {
  office: {
    hours: [...night, 0, 1, 5, 10, 11, 9, 5, 8, 10, 9, 7, 3, 1, 0, 0, 0, 0, 0],
    days: { Sun: 0.05, Mon: 1.2, Tue: 1.1, Wed: 1, Thu: 1, Fri: 0.8, Sat: 0.1 },
  },
  shop: {
    hours: [...night, 2, 5, 7, 8, 8, 7, 6, 6, 7, 8, 7, 5, 3, 1, 0, 0, 0, 0],
    days: { Sun: 0.2, Mon: 0.8, Tue: 0.9, Wed: 0.9, Thu: 1, Fri: 1.2, Sat: 1.3 },
  },
  hotel: {
    hours: [2, 1, 1, 1, 1, 2, 4, 6, 8, 8, 7, 6, 6, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3],
    days: { Sun: 1.1, Mon: 0.9, Tue: 0.9, Wed: 0.9, Thu: 1, Fri: 1.2, Sat: 1.3 },
  },
  centre: {
    hours: [1, 1, 1, 1, 1, 2, 4, 8, 11, 12, 12, 11, 9, 10, 11, 11, 9, 7, 4, 3, 2, 2, 1, 1],
    days: { Sun: 0.3, Mon: 1.3, Tue: 1.1, Wed: 1, Thu: 1, Fri: 1, Sat: 0.5 },
  },
} satisfies Record<string, { hours: readonly number[]; days: Readonly<Record<string, number>> }>

export type CallVolume = keyof typeof volumes

const formats = new Map<string, Intl.DateTimeFormat>()

/** The weight of the hour that begins then. */
export const weightOf = (name: CallVolume, timeZone: string, unixMilliseconds: number): number => {
  const options = { timeZone, weekday: 'short', hour: '2-digit', hourCycle: 'h23' } as const
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-GB', options)
  formats.set(timeZone, format)
  const [day = '', hour] = format.format(unixMilliseconds).split(/\W+/)
  const { hours, days }: { hours: readonly number[]; days: Readonly<Record<string, number>> } = volumes[name]
  return (hours[Number(hour)] ?? 0) * (days[day] ?? 0)
}

/** A phone that makes calls. */
export interface Line {
  deviceId: string
  ownerId: string | undefined
  name: string
  extension: string
  username: string
  agent: string
}

/** A company with its phones and numbers. */
export interface CallingCompany {
  accountId: string
  resellerId: string
  realm: string
  timezone: string
  tongue: Tongue
  volume: CallVolume
  /** Its weight when the calls are shared out. */
  calls: number
  /** Unix milliseconds of its last call at the latest. */
  until: number
  numbers: readonly string[]
  lines: readonly Line[]
}

const hourMs = 3_600_000

/** How many legs each company has in each hour: exactly `legs` in total. Business grows slowly. */
export const legsByHour = (
  companies: readonly CallingCompany[],
  start: number,
  days: number,
  legs: number,
) => {
  const hours = days * 24
  const cells = Array.from({ length: hours }, (_, hour) => start + hour * hourMs).flatMap((at, hour) =>
    companies.map((company) => ({ at, company, growth: 0.85 + (0.3 * hour) / hours })),
  )
  const weights = cells.map(({ at, company: { until, calls, volume, timezone }, growth }) =>
    at + hourMs > until ? 0 : calls * weightOf(volume, timezone, at) * growth,
  )
  const counts = splitBy(weights, legs)
  return cells.map(({ at, company }, index) => ({ at, company, count: counts[index] ?? 0 }))
}

/** One end of a leg: a phone, a number of the company, or a person outside. */
interface End {
  name?: string
  number: string
  /** SIP address. */
  uri: string
}

/** How a call went. Seconds. */
interface Course {
  cause: string
  ringing: number
  talking: number
}

const codes: Readonly<Record<string, string>> = {
  NORMAL_CLEARING: 'sip:200',
  USER_BUSY: 'sip:486',
  NO_ANSWER: 'sip:480',
  ORIGINATOR_CANCEL: 'sip:487',
  LOSE_RACE: 'sip:487',
  UNALLOCATED_NUMBER: 'sip:404',
  CALL_REJECTED: 'sip:603',
}

const failures = ['NO_ANSWER', 'ORIGINATOR_CANCEL', 'ORIGINATOR_CANCEL', 'USER_BUSY', 'CALL_REJECTED']

// The duration of the longest leg, including ringing.
const maxLegSeconds = 3700

/** Most calls take some minutes, few take half an hour: a sum of three random values is close to a bell curve. */
const courseOf = (random: Random): Course => {
  if (random.is(0.75)) {
    const bell = random.share() + random.share() + random.share() - 1.5
    const talking = Math.max(4, Math.min(3600, Math.round(Math.exp(4.7 + bell * 2))))
    return { cause: 'NORMAL_CLEARING', ringing: random.whole(2, 18), talking }
  }
  const cause = random.one(failures)
  return { cause, ringing: cause === 'USER_BUSY' ? 1 : random.whole(6, 40), talking: 0 }
}

interface Leg {
  direction: 'inbound' | 'outbound'
  from: End
  to: End
  type: 'onnet-origination' | 'onnet-termination' | 'offnet-origination' | 'offnet-termination'
  /** The phone that the leg is with, or that the call is charged to. */
  line?: Line
}

/** Prefix, units of a minute (10,000 to the dollar), name. */
const prices = [
  ['+1', 120, 'US_CA'],
  ['+49', 190, 'DE'],
  ['+44', 240, 'GB'],
  ['', 650, 'WORLD'],
] as const

const priceOf = (number: string) => {
  const [, rate, rate_name] = prices.find(([prefix]) => number.startsWith(prefix)) ?? prices[3]
  return { account_billing: 'per_minute', rate, rate_name, rate_increment: 60, rate_minimum: 60 }
}

const variablesOf = (
  { accountId, resellerId }: CallingCompany,
  { type, line, to }: Leg,
  talking: number,
) => ({
  account_id: accountId,
  reseller_id: resellerId,
  resource_type: type,
  ...(line && { authorizing_id: line.deviceId }),
  ...(line?.ownerId && { owner_id: line.ownerId }),
  ...(type.startsWith('offnet')
    ? { resource_id: 'carrier', global_resource: true }
    : { authorizing_type: 'device' }),
  ...(type === 'offnet-termination' && talking > 0 && priceOf(to.number)),
})

interface Call {
  company: CallingCompany
  random: Random
  /** Unix seconds at which the first leg begins. */
  start: number
  key: string
}

const recordOf = ({ company, random, start, key }: Call, course: Course, leg: Leg): Cdr => {
  const { cause, ringing, talking } = course
  const { direction, from, to, type, line } = leg
  const time = gregorianOfUnix(start)
  return {
    call_id: `${random.hex(8)}-${random.hex(4)}@${company.realm}`,
    interaction_id: `${time}-${key}`,
    interaction_time: time,
    interaction_key: key,
    timestamp: time + ringing + talking,
    channel_created_time: start * 1_000_000,
    duration_seconds: ringing + talking,
    ringing_seconds: ringing,
    billing_seconds: talking,
    hangup_cause: cause,
    hangup_code: codes[cause] ?? 'sip:500',
    disposition: talking > 0 && random.is(0.5) ? 'send_bye' : 'recv_bye',
    media_server: `media${random.whole(1, 2)}.example.com`,
    call_direction: direction,
    ...(from.name && { caller_id_name: from.name }),
    caller_id_number: from.number,
    ...(to.name && { callee_id_name: to.name }),
    callee_id_number: to.number,
    from: from.uri,
    to: to.uri,
    request: to.uri,
    ...(type === 'onnet-origination' && { digits_dialed: to.number }),
    ...(type.startsWith('onnet') && line && { user_agent: line.agent }),
    custom_channel_vars: variablesOf(company, leg, talking),
  }
}

/** The legs of a call: of further phones that ring at most the first one answers. */
const recordsOf = (call: Call, legs: readonly Leg[]): Cdr[] => {
  const course = courseOf(call.random)
  const lost = { ...course, cause: course.talking > 0 ? 'LOSE_RACE' : course.cause, talking: 0 }
  const [first, ...others] = legs.map((leg, index) => recordOf(call, index < 2 ? course : lost, leg))
  return first ? [first, ...others.map((other) => ({ ...other, other_leg_call_id: first.call_id }))] : []
}

// Numbers that regulators reserve for fiction, without their last two digits.
const home = {
  en: ['+120155501', '+131055501', '+136055501', '+142555501', '+164655501', '+177355501', '+197155501'],
  de: ['+4930231255', '+4940669695', '+4969900095', '+4922147105'],
}
const abroad = ['+44207946095', '+3319900950', ...home.en, ...home.de]

/** A person outside the company. A number always has the same name. */
const strangerOf = ({ tongue }: CallingCompany, random: Random): End => {
  const prefixes = random.is(0.06) ? abroad : home[tongue === 'de' ? 'de' : 'en']
  const number = `${random.one(prefixes)}${String(random.whole(0, 99)).padStart(2, '0')}`
  const { first, last } = personOf(createRandom(Number(number.slice(-7))), tongue)
  return { number, name: `${first} ${last}`, uri: `${number}@carrier.example.net` }
}

/** The legs of a call from outside, to outside or within the company. */
const legsOfCall = ({ company, random }: Pick<Call, 'company' | 'random'>): Leg[] => {
  const { realm, lines } = company
  const [kind, stranger, line] = [random.share(), strangerOf(company, random), random.one(lines)]
  const number = random.one(company.numbers)
  const own: End = { number, uri: `${number}@${realm}` }
  const endOf = ({ name, extension: number, username }: Line): End => ({
    name,
    number,
    uri: `${username}@${realm}`,
  })
  const rings = (from: End, phone: Line): Leg => ({
    direction: 'outbound',
    from,
    to: endOf(phone),
    type: 'onnet-termination',
    line: phone,
  })
  const dials = (to: End): Leg => ({
    direction: 'inbound',
    from: endOf(line),
    to,
    type: 'onnet-origination',
    line,
  })
  if (kind < 0.52) {
    const winner = lines.indexOf(line)
    const phones = [...lines.slice(winner), ...lines.slice(0, winner)]
    const count = random.is(0.25) ? random.whole(2, 4) : 1
    return [
      { direction: 'inbound', from: stranger, to: own, type: 'offnet-origination' },
      ...phones.slice(0, count).map((phone) => rings(stranger, phone)),
    ]
  }
  if (kind < 0.84) {
    const from = { ...own, name: line.name }
    return [dials(stranger), { direction: 'outbound', from, to: stranger, type: 'offnet-termination', line }]
  }
  const other = random.one(lines)
  return [dials(endOf(other)), rings(endOf(line), other)]
}

/** Exactly `count` legs of an hour of a company, all over by `end` (Unix seconds). */
export const legsOf = (
  company: CallingCompany,
  { at, count, end }: { at: number; count: number; end: number },
  random: Random,
): Cdr[] => {
  const begin = Math.min(Math.floor(at / 1000), end - maxLegSeconds - 3600)
  const records: Cdr[] = []
  while (records.length < count) {
    const call = { company, random, start: begin + random.whole(0, 3599), key: random.hex(8) }
    records.push(...recordsOf(call, legsOfCall(call).slice(0, count - records.length)))
  }
  return records
}
