// A document as every source gives it, from the JSON that one of them has for it.
import { hash } from 'node:crypto'
import { isObject, type Json } from '../../src/lib/json.ts'
import type { SourceDocument } from './source.ts'

/** Of design documents, which are indices. */
export const isDesign = (id: string) => id.startsWith('_design/')

/** What only answers have, and a document has not. */
const ofAnswers = new Set(['_conflicts', '_deleted_conflicts', '_revisions', '_revs_info', '_local_seq'])

/** Behind a string that begins here. */
const behindString = (text: string, start: number) => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** Behind a value that begins here or after white space: at the comma or bracket that ends it. */
const behindValue = (text: string, start: number) => {
  let depth = 0
  let at = start
  while (at < text.length) {
    const sign = text[at]
    if (sign === '"') {
      at = behindString(text, at)
      continue
    }
    if (depth === 0 && (sign === ',' || sign === '}')) return at
    if (sign === '{' || sign === '[') depth += 1
    if (sign === '}' || sign === ']') depth -= 1
    at += 1
  }
  return at
}

interface Member {
  key: string
  /** With its key. */
  text: string
}

/** The members of an object in their order. The text is known to be JSON. */
export const membersIn = (text: string): Member[] => {
  const members: Member[] = []
  let at = text.indexOf('"')
  while (at >= 0) {
    const behindKey = behindString(text, at)
    const end = behindValue(text, text.indexOf(':', behindKey) + 1)
    members.push({ key: String(JSON.parse(text.slice(at, behindKey))), text: text.slice(at, end).trimEnd() })
    at = text[end] === ',' ? text.indexOf('"', end) : -1
  }
  return members
}

const hasBytes = (file: unknown): file is Json & { data: string } =>
  isObject(file) && typeof file.data === 'string'

/** The names of files whose bytes stand in the document. */
const filesWithin = (fields: Json): string[] =>
  isObject(fields._attachments)
    ? Object.entries(fields._attachments).flatMap(([name, file]) => (hasBytes(file) ? [name] : []))
    : []

/** The bytes of a file that stands in the document. */
export const bytesWithin = (fields: Json, name: string): Buffer | undefined => {
  const file = isObject(fields._attachments) ? fields._attachments[name] : undefined
  return hasBytes(file) ? Buffer.from(file.data, 'base64') : undefined
}

const stubOf = (file: unknown): unknown => {
  if (!hasBytes(file)) return file
  const { data, follows: _follows, content_type, revpos, digest, ...rest } = file
  const bytes = Buffer.from(data, 'base64')
  return {
    content_type,
    revpos,
    digest: digest ?? `md5-${hash('md5', bytes, 'base64')}`,
    ...rest,
    length: bytes.length,
    stub: true,
  }
}

const stubsOf = (files: unknown) =>
  isObject(files)
    ? Object.fromEntries(Object.entries(files).map(([name, file]) => [name, stubOf(file)]))
    : files

/** Nothing but the document: both its text and what that says. */
const bared = (text: string, fields: Json): { text: string; fields: Json } => {
  const members = Object.entries(fields).filter(([key]) => !ofAnswers.has(key))
  const bare = Object.fromEntries(
    members.map(([key, value]) => [key, key === '_attachments' ? stubsOf(value) : value]),
  )
  const texts = membersIn(text)
    .filter(({ key }) => !ofAnswers.has(key))
    .map((member) =>
      member.key === '_attachments' ? `"_attachments":${JSON.stringify(bare._attachments)}` : member.text,
    )
  return { text: `{${texts.join(',')}}`, fields: bare }
}

/** JSON, or undefined. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words quote the text, which may hold secrets.
    return undefined
  }
}

/** The texts of a list. */
export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

export interface ReadDocument {
  document: SourceDocument
  isDeleted: boolean
  /** As they came: with the bytes of files that stand in the document. */
  whole: Json
}

/** What the text of a document says; undefined when it is none. */
export const readDocument = (text: string): ReadDocument | undefined => {
  const whole = parsed(text)
  if (!isObject(whole) || typeof whole._id !== 'string') return undefined
  const { _id: id, _rev: rev } = whole
  const isBare = filesWithin(whole).length === 0 && !Object.keys(whole).some((key) => ofAnswers.has(key))
  const document = {
    id,
    rev: typeof rev === 'string' ? rev : undefined,
    conflicts: textsIn(whole._conflicts),
    ...(isBare ? { text, fields: whole } : bared(text, whole)),
  }
  return { document, isDeleted: whole._deleted === true, whole }
}

/** What stands in a row beside its document. */
export const parsedRow = (text: string): Json => {
  const row = parsed(text)
  return isObject(row) ? row : {}
}
