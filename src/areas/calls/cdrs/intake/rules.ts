import { hash } from 'node:crypto'
import { storable } from '../../../../lib/control-characters.ts'
import type { Problems } from '../../../../lib/failure.ts'
import { gregorianOfUnix, gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import { isExactNumber, isObject, type Json } from '../../../../lib/json.ts'
import { isPrivateKey } from '../../../../lib/json-merge.ts'
import { type MicroUnits, microUnitsOfUnits, unitsText, wholeUnitsOf } from '../../../../lib/money.ts'
import { monthOf } from '../../../../lib/time-key.ts'
import { type CallCost, callCost } from '../../../billing/rates/pricing.rules.ts'
import { type CdrRow, emptyRow, fieldColumns } from '../columns.ts'
import { cellCareOf } from '../rules.ts'
import { type Cdr, maxCallIdCharacters } from '../schema.ts'

export class Rejection extends Error {}

const reject = (reason: string): never => {
  throw new Rejection(reason)
}

/** The first problem as one line. */
export const rejectionReason = (problems: Problems) => {
  const [path = '', found = {}] = Object.entries(problems)[0] ?? []
  return `${path}: ${Object.values(found)[0]?.message ?? 'is not valid'}`
}

// Credentials, costs of the carrier, data of the last application, and paths inside the platform.
const sensitive =
  /^(?:(?:.*_)?(?:password|passwd|secret|token|a1_hash)|cost|last_arg|current_application_data|application_data|record_path|record_url|internal_recording_url)$/

/** Whether a field is stored: it is neither private nor sensitive. */
export const isKept = (key: string) => key !== '__proto__' && !isPrivateKey(key) && !sensitive.test(key)

const cleaned = (source: Json): Json => {
  const keys = Object.keys(source)
  if (keys.every(isKept)) return source
  return Object.fromEntries(keys.filter(isKept).map((key) => [key, source[key]]))
}

/** Few records are changed: others are not copied. */
const withInner = (record: Json, key: string, change: (inner: Json) => Json): Json => {
  const inner = record[key]
  const changed = isObject(inner) ? change(inner) : inner
  return changed === inner ? record : { ...record, [key]: changed }
}

export const withoutSecrets = (record: Json): Json =>
  withInner(withInner(cleaned(record), 'custom_channel_vars', cleaned), 'custom_application_vars', cleaned)

export type PriceKey = 'rate' | 'surcharge'

const isWhole = (units: string) => !units.includes('.')

/** A price in whole units, plus the exact value if it has decimals. */
export const pricedIn = (key: PriceKey, micro: MicroUnits): Json => {
  const exact = unitsText(micro)
  return { [key]: wholeUnitsOf(micro), ...(isWhole(exact) ? {} : { [`exact_${key}`]: exact }) }
}

const maxUnits = 1_000_000_000
const decimalUnits = /^\d{1,10}\.\d{1,6}$/

/** A price with decimals. Numbers that a switch has divided may have more digits than are stored. */
const decimalIn = (sent: unknown) => {
  if (typeof sent === 'string') return decimalUnits.test(sent) ? sent : undefined
  const isFraction = typeof sent === 'number' && !Number.isInteger(sent) && sent >= 0 && sent < maxUnits
  return isFraction ? sent : undefined
}

const decimalPrices = (vars: Json, key: PriceKey): Json => {
  const sent = decimalIn(vars[key])
  if (sent === undefined) return {}
  const prices = pricedIn(key, microUnitsOfUnits(sent))
  const exact = `exact_${key}`
  // An exact value that was sent is kept.
  return exact in vars ? { ...prices, [exact]: vars[exact] } : prices
}

/** Splits prices with decimals, as the rate lookup of a number returns them, into whole and exact units. */
export const withExactPrices = (record: Json): Json =>
  withInner(record, 'custom_channel_vars', (vars) => {
    const prices = { ...decimalPrices(vars, 'rate'), ...decimalPrices(vars, 'surcharge') }
    return Object.keys(prices).length === 0 ? vars : { ...vars, ...prices }
  })

interface IgnoreRules {
  ignore_apps: readonly string[]
  ignore_loopback_bowout: boolean
}

/** Whether a leg is a test application, or a loopback channel that left the call. */
export const isIgnored = (record: Cdr, rules: IgnoreRules) => {
  const app = record.custom_channel_vars?.application_name
  if (typeof app === 'string' && rules.ignore_apps.includes(app)) return true
  return (
    rules.ignore_loopback_bowout &&
    record.channel_is_loopback === true &&
    record.channel_loopback_bowout === true
  )
}

const digestCharacters = 32

/**
 * The call id as it is stored. A digest replaces the end of an id that is too long or has characters that cannot be
 * stored, so that different ids stay different.
 */
export const storedCallId = (sent: string): string => {
  const text = storable(sent)
  const isKept =
    text === sent && (sent.length <= maxCallIdCharacters || [...sent].length <= maxCallIdCharacters)
  if (isKept) return sent
  const beginning = [...text].slice(0, maxCallIdCharacters - digestCharacters - 1).join('')
  // UTF-8 has no unpaired surrogates.
  const digest = hash('sha256', Buffer.from(sent, 'utf16le'), 'hex').slice(0, digestCharacters)
  return `${beginning}-${digest}`
}

const callIds = ['call_id', 'other_leg_call_id']
const callIdVars = ['bridge_id']

const withStoredIn = (holder: Json, names: readonly string[]): Json => {
  const changed = names.flatMap((name) => {
    const sent = holder[name]
    const id = typeof sent === 'number' && isExactNumber(sent) ? String(sent) : sent
    const stored = typeof id === 'string' ? storedCallId(id) : id
    return stored === sent ? [] : [[name, stored]]
  })
  return changed.length === 0 ? holder : { ...holder, ...Object.fromEntries(changed) }
}

export const withStoredCallIds = (record: Json): Json =>
  withInner(withStoredIn(record, callIds), 'custom_channel_vars', (vars) => withStoredIn(vars, callIdVars))

export interface Interaction {
  time: number
  key: string
}

// The year 2000. Earlier times, and times more than two days ahead, are errors of a clock or unit; each would create a
// month.
const earliest = 63_113_904_000
const latestAheadSeconds = 2 * 86_400
// Lists search one month before and after their range: see columns.ts.
const farthestApartSeconds = 27 * 86_400

const interactionForm = /^(\d{11})-([A-Za-z0-9_]{1,64})$/

/** Gregorian seconds; undefined if not known. */
const channelStartOf = ({ channel_created_time: microseconds }: Cdr) =>
  microseconds ? gregorianOfUnix(microseconds / 1_000_000) : undefined

/** The key of an interaction that begins with this leg. */
export const interactionKeyOf = (callId: string) => hash('sha256', callId, 'hex').slice(0, 8)

/** The interaction that remains when two are joined: the one that began first. */
export const earlierOf = (a: Interaction, b: Interaction): Interaction => {
  if (a.time !== b.time) return a.time < b.time ? a : b
  return a.key <= b.key ? a : b
}

export const isSameInteraction = (a: Interaction, b: Interaction) => a.time === b.time && a.key === b.key

export const distinct = (some: readonly Interaction[]): Interaction[] =>
  some.filter((one, at) => some.findIndex((other) => isSameInteraction(one, other)) === at)

/** The ids of legs contain the month, so interactions of different months cannot be joined. */
export const canJoin = (from: Interaction, into: Interaction) =>
  !isSameInteraction(from, into) && monthOfGregorian(from.time) === monthOfGregorian(into.time)

const namedInteraction = (record: Cdr): Interaction | undefined => {
  const { interaction_id: id, interaction_time: time, interaction_key: key } = record
  if (id === undefined) return time !== undefined && key !== undefined ? { time, key } : undefined
  const [, seconds, unique] = interactionForm.exec(id) ?? reject('interaction_id: is not <11 digits>-<key>')
  const named = { time: Number(seconds), key: unique ?? '' }
  if (time !== undefined && time !== named.time) reject('interaction_time: does not match interaction_id')
  if (key !== undefined && key !== named.key) reject('interaction_key: does not match interaction_id')
  return named
}

/** Start of a leg whose record does not contain it. */
export const startOf = (record: Cdr): number => {
  // A longer call is listed with a later start.
  const duration = Math.min(record.duration_seconds ?? 0, farthestApartSeconds)
  const ended = record.timestamp === undefined ? undefined : record.timestamp - duration
  return (
    channelStartOf(record) ??
    ended ??
    record.interaction_time ??
    reject('timestamp: is missing. Send timestamp, interaction_id or channel_created_time')
  )
}

/** The interaction that a record names, else a new one. */
export const interactionOf = (record: Cdr): Interaction =>
  namedInteraction(record) ?? {
    time: record.interaction_time ?? startOf(record),
    key: record.interaction_key ?? interactionKeyOf(record.call_id),
  }

const interactionKeys = ['interaction_id', 'interaction_time', 'interaction_key'] as const

/** Gregorian seconds. Without `timestamp`: start of the channel plus duration. */
const legEndOf = (record: Cdr) => {
  const start = channelStartOf(record)
  return record.timestamp ?? (start === undefined ? undefined : start + (record.duration_seconds ?? 0))
}

const fitsEnd = (time: number | undefined, ended: number | undefined) =>
  time === undefined || ended === undefined || Math.abs(ended - time) <= farthestApartSeconds

const namesFittingInteraction = (record: Cdr) => {
  try {
    const named = namedInteraction(record)
    return fitsEnd(named?.time ?? record.interaction_time, legEndOf(record))
  } catch (error) {
    if (error instanceof Rejection) return false
    throw error
  }
}

/** Removes a malformed interaction, and times too far from the end of the call. */
export const withFittingTimes = (record: Cdr): Cdr => {
  const isChannelTime = fitsEnd(channelStartOf(record), record.timestamp)
  const isInteraction = namesFittingInteraction(record)
  if (isChannelTime && isInteraction) return record
  const kept = { ...record }
  if (!isChannelTime) delete kept.channel_created_time
  if (!isInteraction) for (const key of interactionKeys) delete kept[key]
  return kept
}

const timestampOf = (record: Cdr, { time }: Interaction) => legEndOf(record) ?? time

const assertTime = (name: string, gregorian: number, now: number) => {
  if (gregorian < earliest) reject(`${name}: before the year 2000; use Gregorian seconds`)
  if (gregorian > now + latestAheadSeconds) reject(`${name}: is in the future`)
}

/** The month whose table has the legs of an interaction that began then. */
export const monthOfGregorian = (gregorian: number) =>
  Number(monthOf((gregorian - gregorianUnixOffset) * 1000))

const perMinute = 'per_minute'

type BilledCall = Pick<Cdr, 'billing_seconds' | 'custom_channel_vars'>

/** A validated record that can be stored. */
export interface Leg {
  accountId: string
  record: Cdr
  /**
   * Legs that share an interaction with this one, whose record names none. Undefined: the record names its
   * interaction, or it gets a new one.
   */
  joins?: { callId: string; transferred: readonly string[] }
}

export const payersOf = ({ custom_channel_vars: vars }: BilledCall) => ({
  account: vars?.account_billing === perMinute,
  reseller: vars?.reseller_billing === perMinute,
})

// The kinds that Kazoo and this server write.
const billingKinds =
  /^(?:|per_minute|flat_rate(?:_burst)?|allotment(?:_.+)?|limits_(?:disabled|enforced)|hard_limit|disabled|none)$/s
const billingKindsText =
  'per_minute, flat_rate, flat_rate_burst, allotment, allotment_{key}, limits_disabled, limits_enforced, hard_limit, disabled or none'

/** Why a call cannot be billed: otherwise it would be free or too expensive. */
export const billingFlaw = (record: Cdr): string | undefined => {
  const { duration_seconds: duration, billing_seconds: billed, custom_channel_vars: vars = {} } = record
  for (const name of ['account_billing', 'reseller_billing'] as const)
    if (!billingKinds.test(vars[name] ?? ''))
      return `custom_channel_vars.${name}: is an unknown kind of billing. Use ${billingKindsText}`
  const payers = payersOf(record)
  if ((payers.account || payers.reseller) && billed === undefined)
    return 'billing_seconds: is missing. A call that is billed per_minute needs it'
  if (duration !== undefined && billed !== undefined && billed > duration)
    return `billing_seconds: must not be more than duration_seconds (${duration})`
  return undefined
}

/** The cost in whole units, and the billed seconds. */
export const chargeOf = ({
  billing_seconds: billed = 0,
  custom_channel_vars: vars = {},
}: BilledCall): CallCost =>
  callCost({
    seconds: billed - (vars.billing_seconds_offset ?? 0),
    rateUnitsPerMinute: vars.exact_rate ?? vars.rate ?? 0,
    increment: vars.rate_increment,
    minimum: vars.rate_minimum,
    surcharge: vars.exact_surcharge ?? vars.surcharge,
    noChargeTime: vars.rate_nocharge_time,
    discountPercentage: vars.discount_percentage,
  })

export const costsOf = (record: BilledCall) => {
  const payers = payersOf(record)
  if (!payers.account && !payers.reseller) return { cost: 0, reseller_cost: 0 }
  const { cost } = chargeOf(record)
  return { cost: payers.account ? cost : 0, reseller_cost: payers.reseller ? cost : 0 }
}

const loopbackChannel = /^loopback\/.*-([ab])$/i

/** `A`, `B` or empty if unknown; null if the channel is not a loopback. */
const loopbackLegOf = (record: Cdr) => {
  const [, letter] = loopbackChannel.exec(record.channel_name ?? '') ?? []
  const isLoopback =
    record.channel_is_loopback === true || record.channel_name?.startsWith('loopback/') === true
  if (!isLoopback) return null
  const leg = (record.channel_loopback_leg ?? letter ?? '').toUpperCase()
  return leg === 'A' || leg === 'B' ? leg : ''
}

type FieldColumn = (typeof fieldColumns)[number]
type Fields = Record<FieldColumn['sql'], string | number | null>

const columnsIn = (variables: boolean) =>
  new Map<string, FieldColumn>(
    fieldColumns.filter(({ inVariables }) => inVariables === variables).map((field) => [field.name, field]),
  )

const topColumns = columnsIn(false)
const varColumns = columnsIn(true)

// Fields that other columns contain.
const saidByKeys = new Set(['id', 'call_id', 'interaction_id', 'custom_channel_vars'])
const saidByAccount = new Set(['account_id'])

/** Moves fields with a column into `fields` and returns the others. */
const drain = (
  source: Json,
  known: ReadonlyMap<string, FieldColumn>,
  skipped: ReadonlySet<string>,
  fields: Fields,
): Json | undefined => {
  let rest: Json | undefined
  for (const key of Object.keys(source)) {
    if (skipped.has(key)) continue
    const value = source[key]
    const column = known.get(key)
    if (!column) {
      rest ??= {}
      rest[key] = value
    } else fields[column.sql] = column.type === 'json' ? JSON.stringify(value) : (value as string | number)
  }
  return rest
}

/** Returns the JSON text of fields without a column. */
const layInto = (row: Fields, record: Cdr) => {
  const vars = drain(record.custom_channel_vars ?? {}, varColumns, saidByAccount, row)
  const top = drain(record, topColumns, saidByKeys, row)
  if (!vars && !top) return null
  return JSON.stringify(vars ? { ...top, custom_channel_vars: vars } : top)
}

/** Throws a Rejection. */
export const rowOf = (
  { accountId, record }: Pick<Leg, 'accountId' | 'record'>,
  interaction: Interaction,
  now: number,
): CdrRow => {
  const created = timestampOf(record, interaction)
  assertTime('interaction_time', interaction.time, now)
  assertTime('timestamp', created, now)
  if (Math.abs(created - interaction.time) > farthestApartSeconds)
    reject('timestamp: more than 27 days from interaction_time')
  const row = { ...emptyRow }
  row.rest = layInto(row, record)
  row.account_id = accountId
  row.id = `${monthOfGregorian(interaction.time)}-${record.call_id}`
  row.created = created
  row.interaction_time = interaction.time
  row.interaction_key = interaction.key
  row.loopback_leg = loopbackLegOf(record)
  Object.assign(row, costsOf(record))
  return Object.assign(row, cellCareOf(row))
}
