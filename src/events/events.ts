import { gregorianOfUnix } from '../lib/gregorian.ts'
import type { Json } from '../lib/json.ts'
import { actorOf } from '../storage/actor.ts'
import type { Author } from '../storage/change-set.ts'

/** Something that was committed, in its place in the order of everything that was. */
export interface FeedEvent {
  sequence: number
  /** Of its entry, which the audit shows where it is a change. */
  id: string
  accountId: string
  /** Those who stood above the account, top first. */
  above: readonly string[]
  /** Unix milliseconds. */
  at: number
  /** `user.edited` */
  type: string
  kind: string
  recordId: string
  /** What people call the record, where that is not its id. */
  recordName: string | undefined
  /** Undefined: no change of a record, but something that happened. */
  action: 'created' | 'edited' | 'deleted' | undefined
  author: Author
  /** JSON text of the public form after it with the id, secrets masked; undefined of what is deleted. */
  afterText: string | undefined
  /** The same before it; undefined of what is new, and of an edit if nobody asked for it. */
  beforeText: string | undefined
}

const digits = 16

/** A sequence as clients see it: as text it sorts like the number. */
export const sequenceText = (sequence: number) => String(sequence).padStart(digits, '0')

const sequenceForm = /^\d{16}$/

/** The number of a sequence that a client gives back; undefined of anything else. */
export const sequenceOf = (text: string): number | undefined => {
  const number = sequenceForm.test(text) ? Number(text) : undefined
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined
}

/** The record after it; undefined of what is deleted. */
export const afterOf = ({ afterText, action }: FeedEvent): Json | undefined =>
  afterText === undefined || action === 'deleted' ? undefined : JSON.parse(afterText)

/** The record before it; undefined of what is new. */
export const beforeOf = ({ beforeText }: FeedEvent): Json | undefined =>
  beforeText === undefined ? undefined : JSON.parse(beforeText)

/** Bytes of the records that an event tells, about. */
export const weightOf = ({ afterText, beforeText }: FeedEvent) =>
  (afterText?.length ?? 0) + (beforeText?.length ?? 0)

/** An event as clients read it. */
export const eventJson = (event: FeedEvent, { withBefore = false }: { withBefore?: boolean } = {}) => {
  const after = afterOf(event)
  const before = withBefore ? beforeOf(event) : undefined
  return {
    sequence: sequenceText(event.sequence),
    type: event.type,
    account_id: event.accountId,
    at: gregorianOfUnix(event.at / 1000),
    actor: actorOf(event.author),
    request_id: event.author.requestId,
    record: { kind: event.kind, id: event.recordId },
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
  }
}

/** There are so many of it that only who asks for it by name gets it. */
export const callRecords = 'cdr.created'

/** Whether somebody who asked for these types wants one: `user.edited`, `user.*`; none given: all but the many. */
export const typeFilter = (types: readonly string[]): ((type: string) => boolean) => {
  const names = new Set(types)
  if (names.size === 0) return (type) => type !== callRecords
  return (type) => names.has(type) || names.has(`${type.slice(0, type.indexOf('.'))}.*`)
}

/** The same in SQL; parameters are numbered from `next`. */
export const typeCondition = (types: readonly string[], next: number) => {
  if (types.length === 0) return { sql: `event <> '${callRecords}'`, params: [] }
  const places = types.map((type, index) => {
    const place = `$${next + index}`
    // The kind of a type is what stands before its point, which comes before `/` among characters.
    return type.endsWith('.*')
      ? `(event >= CAST(${place} AS TEXT) || '.' AND event < CAST(${place} AS TEXT) || '/')`
      : `event = ${place}`
  })
  return { sql: `(${places.join(' OR ')})`, params: types.map((type) => type.replace(/\.\*$/, '')) }
}

/** The types that events have: of the changes of each kind of records, and others. */
export const eventTypesOf = (declared: { kinds: object; events: object }): ReadonlySet<string> =>
  new Set([
    ...Object.keys(declared.events),
    ...Object.keys(declared.kinds).flatMap((kind) =>
      ['created', 'edited', 'deleted'].map((action) => `${kind}.${action}`),
    ),
  ])

/** The names by which clients select events: `user.edited`, or `user.*` for all of a kind. */
export const typeNamesOf = (declared: { kinds: object; events: object }): ReadonlySet<string> => {
  const types = eventTypesOf(declared)
  return new Set([...types, ...Array.from(types, (type) => type.replace(/\..*/, '.*'))])
}
