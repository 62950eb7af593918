import type { Cdr } from '../../areas/calls/cdrs/schema.ts'
import { gregorianOfUnix } from '../../lib/gregorian.ts'
import { type Chance, createChance, splitBy } from './chance.ts'
import { strangerName, type Tongue } from './people.ts'
import { type RhythmName, weightOf } from './rhythms.ts'

/** A phone that calls, and whose it is. */
export interface Line {
  deviceId: string
  ownerId: string | undefined
  name: string
  extension: string
  username: string
  agent: string
}

/** A company as far as calls know it. */
export interface Telephoning {
  accountId: string
  resellerId: string
  realm: string
  timezone: string
  tongue: Tongue
  rhythm: RhythmName
  calls: number
  /** Unix milliseconds at which it stopped, if it did. */
  until: number
  numbers: readonly string[]
  lines: readonly Line[]
}

const hourMs = 3_600_000
const hoursOfDay = 24

/** How many legs each company has in each hour: exactly so many in all. Business grows by and by. */
export const legsByHour = (companies: readonly Telephoning[], start: number, days: number, legs: number) => {
  const hours = Array.from({ length: days * hoursOfDay }, (_, hour) => start + hour * hourMs)
  const cells = hours.flatMap((at, hour) => companies.map((company) => ({ at, hour, company })))
  const weights = cells.map(({ at, hour, company }) =>
    at + hourMs > company.until
      ? 0
      : company.calls * weightOf(company.rhythm, company.timezone, at) * (0.85 + (0.3 * hour) / hours.length),
  )
  return splitBy(weights, legs).map((count, place) => {
    const { at = start, company } = cells[place] ?? {}
    return { at, company, count }
  })
}

interface Scene {
  company: Telephoning
  chance: Chance
  /** Unix seconds at which the first leg begins. */
  start: number
  interaction: { time: number; key: string }
  stranger: { number: string; name: string }
}

/** How a leg went. */
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

// With the time that it rings.
const longestSeconds = 3700

const talk = (chance: Chance): number => {
  // A sum of three is near enough to a bell: most calls take a minute or three, few take half an hour.
  const bell = chance.share() + chance.share() + chance.share() - 1.5
  return Math.max(4, Math.min(3600, Math.round(Math.exp(4.7 + bell * 2))))
}

const answered = (chance: Chance): Course => ({
  cause: 'NORMAL_CLEARING',
  ringing: chance.whole(2, 18),
  talking: talk(chance),
})

const failures = ['NO_ANSWER', 'ORIGINATOR_CANCEL', 'ORIGINATOR_CANCEL', 'USER_BUSY', 'CALL_REJECTED']

const unanswered = (chance: Chance, cause = chance.one(failures)): Course => ({
  cause,
  ringing: cause === 'USER_BUSY' ? 1 : chance.whole(6, 40),
  talking: 0,
})

const legOf = ({ company, chance, start, interaction }: Scene, course: Course, fields: Partial<Cdr>): Cdr => {
  const { cause, ringing, talking } = course
  const { custom_channel_vars: variables, ...more } = fields
  return {
    call_id: `${chance.hex(8)}-${chance.hex(4)}@${company.realm}`,
    interaction_id: `${interaction.time}-${interaction.key}`,
    interaction_time: interaction.time,
    interaction_key: interaction.key,
    timestamp: gregorianOfUnix(start) + ringing + talking,
    channel_created_time: start * 1_000_000,
    duration_seconds: ringing + talking,
    ringing_seconds: ringing,
    billing_seconds: talking,
    hangup_cause: cause,
    hangup_code: codes[cause] ?? 'sip:500',
    disposition: talking > 0 && chance.is(0.5) ? 'send_bye' : 'recv_bye',
    media_server: `media${chance.whole(1, 2)}.example.com`,
    ...more,
    custom_channel_vars: {
      account_id: company.accountId,
      reseller_id: company.resellerId,
      ...variables,
    },
  }
}

const uri = (user: string, realm: string) => ({ to: `${user}@${realm}`, request: `${user}@${realm}` })

const ownerOf = ({ ownerId }: Line) => (ownerId === undefined ? {} : { owner_id: ownerId })

/** A leg from the platform to one of the company's phones. */
const ringLeg = (scene: Scene, line: Line, course: Course, caller: Scene['stranger'], other: string): Cdr =>
  legOf(scene, course, {
    call_direction: 'outbound',
    caller_id_name: caller.name,
    caller_id_number: caller.number,
    callee_id_name: line.name,
    callee_id_number: line.extension,
    from: `${caller.number}@${scene.company.realm}`,
    ...uri(line.username, scene.company.realm),
    user_agent: line.agent,
    other_leg_call_id: other,
    custom_channel_vars: {
      ...ownerOf(line),
      authorizing_id: line.deviceId,
      authorizing_type: 'device',
      resource_type: 'onnet-termination',
    },
  })

/** Somebody calls the company from outside; one phone rings, or several, of which one may win. */
const fromOutside = (scene: Scene, room: number): Cdr[] => {
  const { company, chance, stranger } = scene
  const isAnswered = chance.is(0.78)
  const course = isAnswered ? answered(chance) : unanswered(chance)
  const number = chance.one(company.numbers)
  const first = legOf(scene, course, {
    call_direction: 'inbound',
    caller_id_name: stranger.name,
    caller_id_number: stranger.number,
    callee_id_number: number,
    from: `${stranger.number}@carrier.example.net`,
    ...uri(number, company.realm),
    custom_channel_vars: {
      resource_type: 'offnet-origination',
      resource_id: 'carrier',
      global_resource: true,
    },
  })
  const ringing = Math.min(room - 1, chance.is(0.25) ? chance.whole(2, 4) : 1)
  const winner = chance.whole(0, company.lines.length - 1)
  const phones = company.lines.slice(winner).concat(company.lines.slice(0, winner)).slice(0, ringing)
  const lost: Course = { cause: isAnswered ? 'LOSE_RACE' : course.cause, ringing: course.ringing, talking: 0 }
  return [
    first,
    ...phones.map((line, place) =>
      ringLeg(scene, line, place === 0 ? course : lost, stranger, first.call_id),
    ),
  ]
}

/** The leg that a phone of the company begins. */
const dialLeg = (scene: Scene, line: Line, course: Course, dialled: string, callee: string): Cdr =>
  legOf(scene, course, {
    call_direction: 'inbound',
    caller_id_name: line.name,
    caller_id_number: line.extension,
    callee_id_name: callee,
    callee_id_number: dialled,
    digits_dialed: dialled,
    from: `${line.username}@${scene.company.realm}`,
    ...uri(dialled, scene.company.realm),
    user_agent: line.agent,
    custom_channel_vars: {
      ...ownerOf(line),
      authorizing_id: line.deviceId,
      authorizing_type: 'device',
      resource_type: 'onnet-origination',
    },
  })

// Units of a minute, 10,000 to the dollar: home is cheap, the rest of the world is not.
const minutePrices = [
  { prefix: '+1', units: 120, name: 'US_CA' },
  { prefix: '+49', units: 190, name: 'DE' },
  { prefix: '+44', units: 240, name: 'GB' },
  { prefix: '', units: 650, name: 'WORLD' },
]

const priceOf = (number: string) => {
  const { units, name } = minutePrices.find(({ prefix }) => number.startsWith(prefix)) ?? {
    units: 650,
    name: 'WORLD',
  }
  return {
    account_billing: 'per_minute',
    rate: units,
    rate_name: name,
    rate_increment: 60,
    rate_minimum: 60,
  }
}

const toOutside = (scene: Scene, room: number): Cdr[] => {
  const { company, chance, stranger } = scene
  const line = chance.one(company.lines)
  const course = chance.is(0.72)
    ? answered(chance)
    : unanswered(chance, chance.one([...failures, 'UNALLOCATED_NUMBER']))
  const first = dialLeg(scene, line, course, stranger.number, stranger.name)
  if (room < 2) return [first]
  const number = chance.one(company.numbers)
  const second = legOf(scene, course, {
    call_direction: 'outbound',
    caller_id_name: line.name,
    caller_id_number: number,
    callee_id_name: stranger.name,
    callee_id_number: stranger.number,
    from: `${number}@${company.realm}`,
    ...uri(stranger.number, 'carrier.example.net'),
    other_leg_call_id: first.call_id,
    custom_channel_vars: {
      ...ownerOf(line),
      authorizing_id: line.deviceId,
      resource_type: 'offnet-termination',
      resource_id: 'carrier',
      global_resource: true,
      ...(course.talking > 0 ? priceOf(stranger.number) : {}),
    },
  })
  return [first, second]
}

const inside = (scene: Scene, room: number): Cdr[] => {
  const { company, chance } = scene
  const [from, to] = [chance.one(company.lines), chance.one(company.lines)]
  const course = chance.is(0.7) ? answered(chance) : unanswered(chance)
  const first = dialLeg(scene, from, course, to.extension, to.name)
  if (room < 2) return [first]
  const caller = { name: from.name, number: from.extension }
  return [first, ringLeg(scene, to, course, caller, first.call_id)]
}

// Beginnings of numbers that regulators keep for stories, all but the last digits.
const home = {
  en: ['+1201555', '+1310555', '+1360555', '+1425555', '+1646555', '+1773555', '+1971555'].map(
    (area) => `${area}01`,
  ),
  de: ['+4930231255', '+4940669695', '+4969900095', '+4922147105'],
}
const abroad = ['+44207946095', '+3319900950', ...home.en, ...home.de]

const strangerOf = ({ tongue }: Telephoning, chance: Chance): Scene['stranger'] => {
  const beginnings = chance.is(0.06) ? abroad : home[tongue === 'de' ? 'de' : 'en']
  const number = `${chance.one(beginnings)}${String(chance.whole(0, 99)).padStart(2, '0')}`
  return { number, name: strangerName(createChance(Number(number.slice(-7))), tongue) }
}

const interactionAt = (company: Telephoning, start: number, room: number, chance: Chance): Cdr[] => {
  const interaction = { time: gregorianOfUnix(start), key: chance.hex(8) }
  const scene = { company, chance, start, interaction, stranger: strangerOf(company, chance) }
  const kind = chance.share()
  if (kind < 0.52) return fromOutside(scene, room)
  return kind < 0.84 ? toOutside(scene, room) : inside(scene, room)
}

/** The legs of an hour of a company: exactly so many, all over by `end` (Unix seconds). */
export const legsOf = (
  company: Telephoning,
  { at, count, end }: { at: number; count: number; end: number },
  chance: Chance,
): Cdr[] => {
  const legs: Cdr[] = []
  while (legs.length < count) {
    const start =
      Math.min(Math.floor(at / 1000), end - longestSeconds - hourMs / 1000) + chance.whole(0, 3599)
    legs.push(...interactionAt(company, start, count - legs.length, chance))
  }
  return legs
}
