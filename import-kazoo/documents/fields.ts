import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import { isPrivateKey } from '../../src/lib/json-merge.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { SourceDocument } from '../source/source.ts'
import type { KazooDocument } from './document.ts'

// What documents of every kind say of themselves.

/** A document of a source, with the kind that it says it is of. */
export const readDocument = (database: string, source: SourceDocument): KazooDocument => {
  const fields: Json = source.fields ?? JSON.parse(source.text)
  return { ...source, database, fields, type: textIn(fields, 'pvt_type') ?? '' }
}

/** The text that stands there; undefined where there is none, or an empty one. */
export const textIn = (fields: unknown, ...path: readonly string[]): string | undefined => {
  const value = memberOf(fields, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The whole number that stands there, as a number or as text. */
export const integerIn = (fields: unknown, ...path: readonly string[]): number | undefined => {
  const value = memberOf(fields, ...path)
  const isWritten = typeof value === 'string' && /^-?\d{1,15}$/.test(value)
  const number = isWritten ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

/** What stands for the time of a document that tells none: the beginning of 1970. */
export const unknownTime = gregorianUnixOffset

/** When a document was made and changed, in Gregorian seconds. Of one that is missing, or the text `undefined`, the other tells. */
export const timesOf = (fields: Json): { created: number; modified: number } => {
  const [made, changed] = [timeIn(fields, 'pvt_created'), timeIn(fields, 'pvt_modified')]
  const created = made ?? changed ?? unknownTime
  return { created, modified: changed ?? created }
}

const timeIn = (fields: Json, key: string) => {
  const value = memberOf(fields, key)
  const time = typeof value === 'number' ? Math.floor(value) : integerIn(fields, key)
  return time !== undefined && Number.isSafeInteger(time) && time > 0 ? time : undefined
}

/** Whether a document is there no more: a tombstone, one that is marked as deleted, a number in that state. */
export const isGone = (fields: Json): boolean =>
  isTrue(fields._deleted) || isTrue(fields.pvt_deleted) || isDeletedNumber(fields)

const isDeletedNumber = (fields: Json) =>
  (textIn(fields, 'pvt_type') ?? 'number') === 'number' &&
  (textIn(fields, 'pvt_state') ?? textIn(fields, 'pvt_number_state')) === 'deleted'

/** What of a document is public, without `left`: keys that are read otherwise, or say nothing. */
export const publicPart = (fields: Json, left: readonly string[] = []): Json =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !isPrivateKey(key) && !left.includes(key)))
