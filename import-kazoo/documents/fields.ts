import { hash } from 'node:crypto'
import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import { isObject, isTrue, type Json } from '../../src/lib/json.ts'
import { isPrivateKey } from '../../src/lib/json-merge.ts'
import { memberOf } from '../../src/lib/member.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { createRemoval, type Place, type Removed } from '../../src/lib/removal.ts'
import type { SourceDocument } from '../source/source.ts'
import type { AttachedFile, KazooDocument } from './document.ts'

/** Adds the document's type. */
export const readDocument = (database: string, source: SourceDocument): KazooDocument => {
  const fields: Json = source.fields ?? JSON.parse(source.text)
  return { ...source, database, fields, type: textIn(fields, 'pvt_type') ?? '' }
}

/** Undefined if there is none or an empty one. */
export const textIn = (fields: unknown, ...path: readonly string[]): string | undefined => {
  const value = memberOf(fields, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The texts of a list, or the one text, without empty ones. */
export const textsIn = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string' && one !== '')

export const isFilled = (value: unknown): value is Json => isObject(value) && Object.keys(value).length > 0

/** A number or a numeric text. */
export const integerIn = (fields: unknown, ...path: readonly string[]): number | undefined => {
  const value = memberOf(fields, ...path)
  const isWritten = typeof value === 'string' && /^-?\d{1,15}$/.test(value)
  const number = isWritten ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

export const unknownTime = gregorianUnixOffset

/** In Gregorian seconds. Without one of the times the other is used, else the begin of 1970. */
export const timesOf = (fields: Json): { created: number; modified: number } => {
  const [made, changed] = [timeIn(fields, 'pvt_created'), timeIn(fields, 'pvt_modified')]
  const created = made ?? changed ?? unknownTime
  return { created, modified: changed ?? created }
}

/** The last second that a `Date` can express. */
export const lastTime = 8_640_000_000_000 + gregorianUnixOffset

const timeIn = (fields: Json, key: string) => {
  const value = memberOf(fields, key)
  const time = typeof value === 'number' ? Math.floor(value) : integerIn(fields, key)
  return time !== undefined && Number.isInteger(time) && time > 0 && time <= lastTime ? time : undefined
}

/** Sorted by a time, then by an id. */
export const inOrder = <T>(all: Iterable<T>, keyOf: (one: T) => readonly [time: number, id: string]): T[] =>
  Array.from(all, (one) => ({ one, key: keyOf(one) }))
    .sort(({ key: [time, id] }, { key: [otherTime, otherId] }) => time - otherTime || (id < otherId ? -1 : 1))
    .map(({ one }) => one)

/** The oldest document keeps a name. */
export const inOrderOfAge = <T extends Pick<KazooDocument, 'id' | 'fields'>>(documents: readonly T[]) =>
  inOrder(documents, ({ id, fields }) => [timesOf(fields).created, id])

/** Deleted documents, and numbers in the state `deleted`. */
export const isGone = (fields: Json): boolean =>
  isTrue(fields._deleted) || isTrue(fields.pvt_deleted) || isDeletedNumber(fields)

const isDeletedNumber = (fields: Json) =>
  (textIn(fields, 'pvt_type') ?? 'number') === 'number' &&
  (textIn(fields, 'pvt_state') ?? textIn(fields, 'pvt_number_state')) === 'deleted'

/** Without private keys and `left`. */
export const publicPart = (fields: Json, left: readonly string[] = []): Json =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !isPrivateKey(key) && !left.includes(key)))

/** A stable id for a record that is made of a part of a document. */
export const derivedId = (database: string, id: string, what: string) =>
  hash('sha256', JSON.stringify([database, id, what]), 'hex').slice(0, 32)

/** `since`: the revision that added it. */
interface Attachment extends Omit<AttachedFile, 'role'> {
  since: number
}

/** Sorted by name. */
export const attachmentsOf = (
  { fields }: Pick<KazooDocument, 'fields'>,
  usualType = 'application/octet-stream',
): Attachment[] =>
  Object.entries(isObject(fields._attachments) ? fields._attachments : {})
    .map(([name, stub]) => {
      const digest = textIn(stub, 'digest')
      return {
        name,
        contentType: textIn(stub, 'content_type') ?? usualType,
        length: integerIn(stub, 'length'),
        ...(digest === undefined ? {} : { digest }),
        since: integerIn(stub, 'revpos') ?? 0,
      }
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))

export const fileAs = (role: string, { since: _, ...file }: Attachment): AttachedFile => ({ role, ...file })

/** Files that are stored outside the database. */
export const outsideFilesIn = (fields: Json) => {
  const files = memberOf(fields, 'pvt_attachments')
  return isObject(files) ? Object.keys(files) : []
}

// Rejected values by path: `kazoo_import.rejected` of the record.

const key = 'kazoo_import'

export const rejectedOf = (removed: readonly Removed[]): Json =>
  Object.fromEntries(removed.map(({ place, value }) => [pathOf(place), value]))

export const rejectedIn = (doc: Json): Json => {
  const found = memberOf(doc, key, 'rejected')
  return isObject(found) ? found : {}
}

/** A copy without the values at these places, which it has as rejected, and what was removed. */
export const withoutPlaces = (doc: Json, places: readonly Place[]) => {
  const { rest, removed, remove } = createRemoval(doc)
  remove(places)
  return { rest: withRejected(rest, rejectedOf(removed)), removed }
}

export const withRejected = (doc: Json, further: Json): Json => {
  const rejected = { ...rejectedIn(doc), ...further }
  return Object.keys(rejected).length === 0 ? doc : { ...doc, [key]: { rejected } }
}

// In limits `5.0` is five dollars and `5` five units; parsing loses the difference.

const literal = Symbol('literal')

export const numberLiterals = (text: string) => {
  const document: unknown = JSON.parse(text, (_, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? { [literal]: context?.source ?? String(value) } : value,
  )
  return (...path: readonly string[]): string | undefined => {
    const found = memberOf(document, ...path) as { [literal]?: string } | undefined
    return found?.[literal]
  }
}

/** Whether Kazoo reads the number as a fraction. */
export const isWrittenAsFraction = (literal: string) => /[.eE]/.test(literal)
