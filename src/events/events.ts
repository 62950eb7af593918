import { gregorianOfUnix } from '../lib/gregorian.ts'
import type { Json } from '../lib/json.ts'
import { actorOf } from '../storage/audit-log.ts'
import type { Author } from '../storage/change-set.ts'

export interface FeedEvent {
  sequence: number
  /** The id of its audit entry. */
  id: string
  accountId: string
  /** Parent accounts at that time, top first. */
  above: readonly string[]
  /** Unix milliseconds. */
  at: number
  /** `user.edited` */
  type: string
  kind: string
  recordId: string
  /** Undefined: its id. */
  recordName: string | undefined
  /** Undefined: the event is not a change of a record. */
  action: 'created' | 'edited' | 'deleted' | undefined
  author: Author
  /** JSON text of the public record after the change, with its id and masked secrets; undefined of a deletion. */
  afterText: string | undefined
  /** The same before the change; read only on request, except for deletions. */
  beforeText: string | undefined
}

const digits = 16

/** As text it sorts like the number. */
export const sequenceText = (sequence: number) => String(sequence).padStart(digits, '0')

const sequenceForm = /^\d{16}$/

/** Undefined: not a sequence. */
export const sequenceOf = (text: string): number | undefined => {
  const number = sequenceForm.test(text) ? Number(text) : undefined
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined
}

export const afterOf = ({ afterText, action }: FeedEvent): Json | undefined =>
  afterText === undefined || action === 'deleted' ? undefined : JSON.parse(afterText)

export const beforeOf = ({ beforeText }: FeedEvent): Json | undefined =>
  beforeText === undefined ? undefined : JSON.parse(beforeText)

export const weightOf = ({ afterText, beforeText }: FeedEvent) =>
  (afterText?.length ?? 0) + (beforeText?.length ?? 0)

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

/** Subscribers must name this type, because it is frequent. */
export const callRecords = 'cdr.created'

/** Matches `user.edited` and `user.*`; without types, everything except call records. */
export const typeFilter = (types: readonly string[]): ((type: string) => boolean) => {
  const names = new Set(types)
  if (names.size === 0) return (type) => type !== callRecords
  return (type) => names.has(type) || names.has(`${type.slice(0, type.indexOf('.'))}.*`)
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
