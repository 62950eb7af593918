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

/**
 * Finds which legs of a month belong together if their records name no interaction. The result does not
 * depend on the order of records, so it is the same for each source and resumed run. Memory grows with the
 * number of such legs.
 */
export const createJoins = () => {
  const indices = new Map<string, number>()
  const callIds: string[] = []
  const starts: number[] = []
  const parents: number[] = []
  /** Legs that name a leg which has not come yet, by its id. */
  const waiting = new Map<string, number[]>()
  /** Interactions that records name, by the root of their legs. */
  const given = new Map<number, Interaction>()

  const parentOf = (index: number) => parents[index] ?? index

  const rootOf = (index: number) => {
    let root = index
    while (parentOf(root) !== root) {
      parents[root] = parentOf(parentOf(root))
      root = parentOf(root)
    }
    return root
  }

  const isBefore = (a: number, b: number) => {
    const [one = 0, other = 0] = [starts[a], starts[b]]
    return one === other ? (callIds[a] ?? '') < (callIds[b] ?? '') : one < other
  }

  const give = (index: number, interaction: Interaction) => {
    const root = rootOf(index)
    const known = given.get(root)
    given.set(root, known ? earlierOf(known, interaction) : interaction)
  }

  /** The root is the leg that began first: it gives the interaction its id. */
  const unite = (a: number, b: number) => {
    const [one, other] = [rootOf(a), rootOf(b)]
    if (one === other) return
    const [first, second] = isBefore(one, other) ? [one, other] : [other, one]
    parents[second] = first
    const interaction = given.get(second)
    given.delete(second)
    if (interaction) give(first, interaction)
  }

  const join = (index: number, callId: string) => {
    const other = indices.get(callId)
    if (other !== undefined) return unite(index, other)
    const others = waiting.get(callId)
    if (others) others.push(index)
    else waiting.set(callId, [index])
  }

  return {
    /** Adds a leg whose record names no interaction. */
    learn({ callId, start, named }: LooseLeg) {
      if (indices.has(callId)) return
      const index = callIds.length
      indices.set(callId, index)
      callIds.push(callId)
      starts.push(start)
      parents.push(index)
      for (const other of waiting.get(callId) ?? []) unite(index, other)
      waiting.delete(callId)
      for (const other of named) if (other !== callId) join(index, other)
    },

    /** Adds a leg whose record names one, after all others are learned. */
    attach({ callId, named }: Pick<LooseLeg, 'callId' | 'named'>, interaction: Interaction) {
      for (const index of waiting.get(callId) ?? []) give(index, interaction)
      for (const other of named) {
        const index = indices.get(other)
        if (index !== undefined) give(index, interaction)
      }
    },

    /** Undefined if the leg is alone or the first one. */
    interactionOf(callId: string): Interaction | undefined {
      const index = indices.get(callId)
      if (index === undefined) return undefined
      const root = rootOf(index)
      const interaction = given.get(root)
      if (interaction || root === index) return interaction
      return { time: starts[root] ?? 0, key: interactionKeyOf(callIds[root] ?? '') }
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
const callIdOf = ({ call_id: callId, _id: id }: Json, documentId: string) => {
  if (isText(callId)) return callId
  if (typeof callId === 'number') return String(callId)
  return /^\d{6}-(.+)$/s.exec(isText(id) ? id : documentId)?.[1]
}

const notesOfChanges: Record<Change, string> = {
  negative: 'call_number_negative',
  rounded: 'call_number_rounded',
  'one line': 'call_text_repaired',
}

const nothing: readonly Note[] = []

const variables = 'custom_channel_vars.'
const privateMark = 'pvt_'

type CallRecord = { -readonly [Key in keyof Cdr]: Cdr[Key] }

class Draft {
  readonly fields: Json
  readonly notes: Note[] = []
  #rejected: Json | undefined
  #prefix = ''
  #key = ''
  readonly #changed = (change: Change) =>
    this.note(notesOfChanges[change], { field: this.#prefix + this.#key })

  constructor(fields: Json) {
    this.fields = fields
  }

  note(code: string, said: Pick<Note, 'field' | 'old' | 'new'> = {}) {
    this.notes.push({ severity: 'repaired', code, ...said })
  }

  #take(into: Json, key: string, value: unknown, taking: Fit) {
    if (value === null) return
    this.#key = key
    const taken = taking(value, this.#changed)
    if (taken === absent) return
    if (taken !== unfit) into[key] = taken
    else {
      const field = this.#prefix + key
      this.#rejected ??= {}
      this.#rejected[field] = value
      this.note('call_field_set_aside', { field })
    }
  }

  /** Version 5 stores some channel variables as private fields. */
  #takeHiddenVariables(into: Json) {
    for (const key of Object.keys(this.fields)) {
      if (!key.startsWith(privateMark)) continue
      const name = key.slice(privateMark.length)
      const fit = namedVariables.has(name) && into[name] === undefined ? variableFit(name) : undefined
      if (fit) this.#take(into, name, this.fields[key], fit)
    }
  }

  #variables(accountId: string): Json {
    const { custom_channel_vars: said, pvt_account_id: owner } = this.fields
    const source = isObject(said) ? said : {}
    const vars: Json = { account_id: accountId }
    const named = source.account_id ?? owner
    if (isText(named) && named !== accountId) {
      const old = named.slice(0, 64)
      this.note('call_record_of_other_account', { field: `${variables}account_id`, old, new: accountId })
    }
    this.#prefix = variables
    for (const key of Object.keys(source)) {
      const fit = variableFit(key)
      if (fit) this.#take(vars, key, source[key], fit)
    }
    this.#takeHiddenVariables(vars)
    return vars
  }

  /** The record without its interaction. */
  record(callId: string, accountId: string): CallRecord {
    const record: Json = { call_id: callId }
    for (const key of Object.keys(this.fields)) {
      const fit = recordFit(key)
      if (fit) this.#take(record, key, this.fields[key], fit)
    }
    record.custom_channel_vars = this.#variables(accountId)
    if (this.#rejected) record.kazoo_import = { rejected: this.#rejected }
    // Every field was checked against its schema.
    return record as CallRecord
  }
}

const settleTimes = (draft: Draft, record: CallRecord) => {
  const { fields } = draft
  const created = fields.pvt_created
  if (record.timestamp === undefined && typeof created === 'number' && Number.isSafeInteger(created)) {
    record.timestamp = created
    draft.note('call_timestamp_set', { field: 'timestamp', new: String(created) })
  }
  const { timestamp, channel_created_time: microseconds } = record
  if (timestamp === undefined || !microseconds) return
  const start = gregorianOfUnix(microseconds / 1_000_000)
  if (Math.abs(start - timestamp) > farthestApartSeconds) {
    delete record.channel_created_time
    draft.note('call_channel_time_dropped', { field: 'channel_created_time', old: String(microseconds) })
    return
  }
  const end = start + (record.duration_seconds ?? 0)
  if (Number(fields.pvt_vsn) < 3 || Number.isNaN(Number(fields.pvt_vsn))) return
  if (Math.abs(end - timestamp) <= reportSlackSeconds) return
  record.timestamp = end
  draft.note('call_timestamp_set', { field: 'timestamp', old: String(timestamp), new: String(end) })
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

const settleInteraction = (draft: Draft, record: CallRecord, joins: CallContext['joins']) => {
  const { fields } = draft
  const said = saidInteraction(fields)
  if (said !== undefined) {
    record.interaction_id = said
    const { interaction_time: time, interaction_key: key } = fields
    if (isText(key) && time !== undefined && `${time}-${key}` !== said)
      draft.note('call_interaction_repaired', { field: 'interaction_id', old: `${time}-${key}`, new: said })
    return
  }
  const joined = joins?.interactionOf(record.call_id)
  const at = record.timestamp ?? startOf(record)
  // An earlier leg that comes later must not change the id, which contains the month.
  if (!joined || !canJoin(interactionOf(record), joined)) return
  if (Math.abs(at - joined.time) > farthestApartSeconds) return
  record.interaction_id = `${joined.time}-${joined.key}`
  draft.note('call_record_joined', { field: 'interaction_id', new: record.interaction_id })
}

// Eleven digits: until the year 3168.
const hasMonth = (gregorian: number) => gregorian > 0 && gregorian < 100_000_000_000

export const refusedCall = (reason: string): Note => {
  const [field = ''] = reason.split(':', 1)
  return { severity: 'left_out', code: 'call_record_refused', field, new: reason }
}

const aside = (reason: string): ConvertedCall => ({ outcome: 'aside', notes: [refusedCall(reason)] })

const drafted = (document: KazooDocument) => {
  const { text, fields } = document
  const storable = storableFields(text, fields)
  const draft = new Draft(storable)
  if (storable !== fields) draft.note('call_text_repaired')
  const callId = callIdOf(fields, document.id)
  return { draft, callId: callId === undefined ? undefined : storedCallId(callId) }
}

const converted = (document: KazooDocument, { accountId, joins }: CallContext): ConvertedCall => {
  const { draft, callId } = drafted(document)
  if (callId === undefined) return aside('call_id: is missing')
  const record = draft.record(callId, accountId)
  settleTimes(draft, record)
  settleInteraction(draft, record, joins)
  const { time } = interactionOf(record)
  if (!hasMonth(time)) return aside('interaction_time: is no time of a call')
  const id = `${monthOfGregorian(time)}-${callId}`
  if (id !== document.id) draft.note('call_record_moved', { field: '_id', old: document.id, new: id })
  return {
    outcome: 'leg',
    leg: { accountId, record },
    id,
    namesInteraction: !isLoose(document),
    notes: draft.notes.length === 0 ? nothing : draft.notes,
  }
}

export const convertCall = (document: KazooDocument, context: CallContext): ConvertedCall => {
  if (isTrue(document.fields.pvt_deleted)) return { outcome: 'gone', notes: nothing }
  try {
    return converted(document, context)
  } catch (error) {
    if (error instanceof Rejection) return aside(error.message)
    throw error
  }
}

type SaidLeg = LooseLeg & { interaction: Interaction | undefined }

/** Whether the document names no interaction. */
export const isLoose = ({ fields }: KazooDocument) => saidInteraction(fields) === undefined

export const saidLegOf = (document: KazooDocument): SaidLeg | undefined => {
  if (isTrue(document.fields.pvt_deleted)) return undefined
  try {
    const { draft, callId } = drafted(document)
    if (callId === undefined) return undefined
    const record = draft.record(callId, '')
    settleTimes(draft, record)
    settleInteraction(draft, record, undefined)
    const { other_leg_call_id: other, custom_channel_vars: vars = {} } = record
    return {
      callId,
      start: startOf(record),
      named: [other, vars.bridge_id].filter(isText),
      interaction: record.interaction_id === undefined ? undefined : interactionOf(record),
    }
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}
