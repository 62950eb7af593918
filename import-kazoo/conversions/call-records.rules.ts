import {
  canJoin,
  earlierOf,
  type Interaction,
  interactionKeyOf,
  interactionOf,
  type Leg,
  monthOfGregorian,
  Rejection,
  startOf,
  storedCallId,
} from '../../src/areas/calls/cdrs/intake/rules.ts'
import type { Cdr } from '../../src/areas/calls/cdrs/schema.ts'
import { gregorianOfUnix } from '../../src/lib/gregorian.ts'
import { isObject, isTrue, type Json } from '../../src/lib/json.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { isFilled } from '../documents/fields.ts'
import {
  absent,
  type Change,
  type Fit,
  namedVariables,
  recordFit,
  storableFields,
  unfit,
  variableFit,
} from './call-record-fields.rules.ts'

export interface LooseLeg {
  callId: string
  start: number
  /** Legs that this one names, in the month or not. */
  named: readonly string[]
}

interface JoinedLeg extends Pick<LooseLeg, 'callId' | 'start'> {
  /** Leads to the root, which is the leg that began first: it gives the interaction its id. */
  earlier?: JoinedLeg
  /** For a root: the interaction that a record names. */
  interaction?: Interaction
}

const rootOf = (leg: JoinedLeg) => {
  let root = leg
  while (root.earlier) {
    if (root.earlier.earlier) root.earlier = root.earlier.earlier
    root = root.earlier
  }
  return root
}

const give = (leg: JoinedLeg, interaction: Interaction) => {
  const root = rootOf(leg)
  root.interaction = root.interaction ? earlierOf(root.interaction, interaction) : interaction
}

const isBefore = (one: JoinedLeg, other: JoinedLeg) =>
  one.start === other.start ? one.callId < other.callId : one.start < other.start

const unite = (one: JoinedLeg, other: JoinedLeg) => {
  const roots = [rootOf(one), rootOf(other)] as const
  if (roots[0] === roots[1]) return
  const [first, second] = isBefore(...roots) ? roots : [roots[1], roots[0]]
  second.earlier = first
  if (second.interaction) give(first, second.interaction)
}

/**
 * Finds which legs of a month belong together if their records name no interaction. The result does not
 * depend on the order of records, so it is the same for each source and resumed run. Memory grows with the
 * number of such legs.
 */
export const createJoins = () => {
  const legs = new Map<string, JoinedLeg>()
  /** Legs that name a leg which has not come yet, by its id. */
  const waiting = new Map<string, JoinedLeg[]>()

  const join = (leg: JoinedLeg, callId: string) => {
    const other = legs.get(callId)
    if (other) return unite(leg, other)
    const others = waiting.get(callId)
    if (others) others.push(leg)
    else waiting.set(callId, [leg])
  }

  return {
    /** Adds a leg whose record names no interaction. */
    learn({ callId, start, named }: LooseLeg) {
      if (legs.has(callId)) return
      const leg = { callId, start }
      legs.set(callId, leg)
      for (const other of waiting.get(callId) ?? []) unite(leg, other)
      waiting.delete(callId)
      for (const other of named) if (other !== callId) join(leg, other)
    },

    /** Adds a leg whose record names one, after all others are learned. */
    attach({ callId, named }: Pick<LooseLeg, 'callId' | 'named'>, interaction: Interaction) {
      for (const leg of waiting.get(callId) ?? []) give(leg, interaction)
      for (const leg of named.flatMap((other) => legs.get(other) ?? [])) give(leg, interaction)
    },

    /** Undefined if the leg is alone or the first one. */
    interactionOf(callId: string): Interaction | undefined {
      const leg = legs.get(callId)
      if (!leg) return undefined
      const root = rootOf(leg)
      return (
        root.interaction ??
        (root === leg ? undefined : { time: root.start, key: interactionKeyOf(root.callId) })
      )
    },
  }
}

export type Joins = ReturnType<typeof createJoins>

export type Note = Omit<Finding, 'database' | 'id'>

/** A leg, or why the document becomes none. */
type ConvertedCall = { notes: readonly Note[] } & (
  | {
      outcome: 'leg'
      leg: Pick<Leg, 'accountId' | 'record'>
      id: string
      /** False: the interaction depends on the other legs of the month. */
      namesInteraction: boolean
    }
  | { outcome: 'aside' | 'gone' }
)

export type ConvertedLeg = Extract<ConvertedCall, { outcome: 'leg' }>

interface CallContext {
  accountId: string
  joins?: Pick<Joins, 'interactionOf'> | undefined
}

// Maximum distance of a call record from its interaction.
const farthestApartSeconds = 27 * 86_400
// Reports of version 5 may miss the end of the call by this.
const reportSlackSeconds = 2

export const isCallRecord = ({ type }: Pick<KazooDocument, 'type'>) => type === 'cdr'

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Documents are named by month and call id. */
const callIdOf = ({ fields: { call_id: callId, _id: id }, id: documentId }: KazooDocument) => {
  if (isText(callId)) return callId
  if (typeof callId === 'number') return String(callId)
  const [, named] = /^\d{6}-(.+)$/s.exec(isText(id) ? id : documentId) ?? []
  if (named === undefined) throw new Rejection('call_id: is missing')
  return named
}

const notesOfChanges: Record<Change, string> = {
  negative: 'call_number_negative',
  rounded: 'call_number_rounded',
  'one line': 'call_text_repaired',
}

const variables = 'custom_channel_vars.'
const privateMark = 'pvt_'

type CallRecord = { -readonly [Key in keyof Cdr]: Cdr[Key] }

/** Version 5 stores some channel variables as private fields. */
const hiddenVariables = (fields: Json): Json =>
  Object.fromEntries(
    Object.keys(fields)
      .filter((key) => key.startsWith(privateMark) && namedVariables.has(key.slice(privateMark.length)))
      .map((key) => [key.slice(privateMark.length), fields[key]]),
  )

/** A record without its interaction, and what was changed. */
const draftOf = (document: KazooDocument, accountId: string) => {
  const notes: Note[] = []
  const rejected: Json = {}
  const note = (code: string, details: Pick<Note, 'field' | 'old' | 'new'> = {}) =>
    void notes.push({ severity: 'repaired', code, ...details })
  const fields = storableFields(document.text, document.fields)
  if (fields !== document.fields) note('call_text_repaired')

  let field = ''
  // One closure for all fields: there are millions of records.
  const changed = (change: Change) => note(notesOfChanges[change], { field })
  const take = (into: Json, source: Json, fitFor: (key: string) => Fit | undefined, prefix = '') => {
    for (const key of Object.keys(source)) {
      const toFit = source[key] === null ? undefined : fitFor(key)
      if (!toFit) continue
      field = prefix + key
      const taken = toFit(source[key], changed)
      if (taken === unfit) {
        rejected[field] = source[key]
        note('call_field_set_aside', { field })
      } else if (taken !== absent) into[key] = taken
    }
  }

  const callId = storedCallId(callIdOf(document))
  const record: Json = { call_id: callId }
  take(record, fields, recordFit)
  const { custom_channel_vars: given, pvt_account_id: owner } = fields
  const source = isObject(given) ? given : {}
  const named = source.account_id ?? owner
  if (isText(named) && named !== accountId)
    note('call_record_of_other_account', {
      field: `${variables}account_id`,
      old: named.slice(0, 64),
      new: accountId,
    })
  const vars: Json = { account_id: accountId }
  take(vars, source, variableFit, variables)
  take(
    vars,
    hiddenVariables(fields),
    (key) => (vars[key] === undefined ? variableFit(key) : undefined),
    variables,
  )
  record.custom_channel_vars = vars
  if (isFilled(rejected)) record.kazoo_import = { rejected }
  // Every field was checked against its schema.
  return { fields, note, notes, callId, record: record as CallRecord }
}

type CallDraft = ReturnType<typeof draftOf>

const settleTimes = ({ fields, record, note }: CallDraft) => {
  const created = fields.pvt_created
  if (record.timestamp === undefined && typeof created === 'number' && Number.isSafeInteger(created)) {
    record.timestamp = created
    note('call_timestamp_set', { field: 'timestamp', new: String(created) })
  }
  const { timestamp, channel_created_time: microseconds } = record
  if (timestamp === undefined || !microseconds) return
  const start = gregorianOfUnix(microseconds / 1_000_000)
  if (Math.abs(start - timestamp) > farthestApartSeconds) {
    delete record.channel_created_time
    note('call_channel_time_dropped', { field: 'channel_created_time', old: String(microseconds) })
    return
  }
  const end = start + (record.duration_seconds ?? 0)
  if (Number(fields.pvt_vsn) < 3 || Number.isNaN(Number(fields.pvt_vsn))) return
  if (Math.abs(end - timestamp) <= reportSlackSeconds) return
  record.timestamp = end
  note('call_timestamp_set', { field: 'timestamp', old: String(timestamp), new: String(end) })
}

const numberOf = (value: unknown) => {
  const number = isText(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

const saidInteraction = ({
  interaction_id: id,
  interaction_time: time,
  interaction_key: key,
}: Json): string | undefined => {
  if (isText(id)) return id
  const seconds = numberOf(time)
  return seconds !== undefined && isText(key) ? `${seconds}-${key}` : undefined
}

const settleInteraction = ({ fields, record, note }: CallDraft, joins: CallContext['joins']) => {
  const said = saidInteraction(fields)
  if (said !== undefined) {
    record.interaction_id = said
    const { interaction_time: time, interaction_key: key } = fields
    if (isText(key) && time !== undefined && `${time}-${key}` !== said)
      note('call_interaction_repaired', { field: 'interaction_id', old: `${time}-${key}`, new: said })
    return
  }
  const joined = joins?.interactionOf(record.call_id)
  const at = record.timestamp ?? startOf(record)
  // An earlier leg that comes later must not change the id, which contains the month.
  if (!joined || !canJoin(interactionOf(record), joined)) return
  if (Math.abs(at - joined.time) > farthestApartSeconds) return
  record.interaction_id = `${joined.time}-${joined.key}`
  note('call_record_joined', { field: 'interaction_id', new: record.interaction_id })
}

// Eleven digits: until the year 3168.
const hasMonth = (gregorian: number) => gregorian > 0 && gregorian < 100_000_000_000

export const refusedCall = (reason: string): Note => {
  const [field = ''] = reason.split(':', 1)
  return { severity: 'left_out', code: 'call_record_refused', field, new: reason }
}

const settled = (document: KazooDocument, { accountId, joins }: CallContext) => {
  const draft = draftOf(document, accountId)
  settleTimes(draft)
  settleInteraction(draft, joins)
  return draft
}

const unlessRejected = <T>(convert: () => T): T | Rejection => {
  try {
    return convert()
  } catch (error) {
    if (error instanceof Rejection) return error
    throw error
  }
}

const legOf = (document: KazooDocument, context: CallContext): ConvertedCall => {
  const { callId, record, note, notes } = settled(document, context)
  const { time } = interactionOf(record)
  if (!hasMonth(time)) throw new Rejection('interaction_time: is not a valid time of a call')
  const id = `${monthOfGregorian(time)}-${callId}`
  if (id !== document.id) note('call_record_moved', { field: '_id', old: document.id, new: id })
  const leg = { accountId: context.accountId, record }
  return { outcome: 'leg', leg, id, namesInteraction: !isLoose(document), notes }
}

export const convertCall = (document: KazooDocument, context: CallContext): ConvertedCall => {
  if (isTrue(document.fields.pvt_deleted)) return { outcome: 'gone', notes: [] }
  const leg = unlessRejected(() => legOf(document, context))
  return leg instanceof Rejection ? { outcome: 'aside', notes: [refusedCall(leg.message)] } : leg
}

type SaidLeg = LooseLeg & { interaction: Interaction | undefined }

/** Whether the document names no interaction. */
export const isLoose = ({ fields }: KazooDocument) => saidInteraction(fields) === undefined

/** Undefined if the document becomes no leg. */
export const saidLegOf = (document: KazooDocument): SaidLeg | undefined => {
  if (isTrue(document.fields.pvt_deleted)) return undefined
  const leg = unlessRejected(() => {
    const { callId, record } = settled(document, { accountId: '' })
    const { other_leg_call_id: other, custom_channel_vars: vars = {} } = record
    return {
      callId,
      start: startOf(record),
      named: [other, vars.bridge_id].filter(isText),
      interaction: record.interaction_id === undefined ? undefined : interactionOf(record),
    }
  })
  return leg instanceof Rejection ? undefined : leg
}
