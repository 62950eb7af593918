import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, resolve, sep } from 'node:path'
import { isObject, type Json } from '../../src/lib/json.ts'
import { DatabaseVanished, type SourceDocument, type SourcePage, SourceTrouble } from './source.ts'

// Turns JSON from any source into the same document.

export const isDesign = (id: string) => id.startsWith('_design/')

/** Members of responses that documents do not have. */
const ofAnswers = new Set(['_conflicts', '_deleted_conflicts', '_revisions', '_revs_info', '_local_seq'])

const behindString = (text: string, start: number) => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** The position of the comma or bracket after a value. */
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
  text: string
}

/** In order. `text` must be valid JSON. */
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

const filesWithin = (fields: Json): string[] =>
  isObject(fields._attachments)
    ? Object.entries(fields._attachments).flatMap(([name, file]) => (hasBytes(file) ? [name] : []))
    : []

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

/** Removes response members, and replaces files by stubs. */
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

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Parser messages quote the text, which may contain secrets.
    return undefined
  }
}

export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

export interface ReadDocument {
  document: SourceDocument
  isDeleted: boolean
  /** With the bytes of inline files. */
  whole: Json
}

/** Undefined if it is no document. */
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

export const parsedRow = (text: string): Json => {
  const row = parsed(text)
  return isObject(row) ? row : {}
}

export interface SourceRow {
  mark: string
  document?: SourceDocument
  gone?: string
  unreadable?: { id: string; reason: string }
}

// Limits of a page.
const pageLength = 4 * 1024 * 1024
const pageDocuments = 1000

/** If a page has a document twice, the last row counts: shards repeat themselves. */
export async function* pagesOf(rows: AsyncIterable<SourceRow>): AsyncGenerator<SourcePage> {
  let documents = new Map<string, SourceDocument>()
  let gone = new Set<string>()
  let unreadable: { id: string; reason: string }[] = []
  let length = 0
  let mark: string | undefined
  const take = (reached: string): SourcePage => {
    const page = { documents: [...documents.values()], gone: [...gone], unreadable, mark: reached }
    documents = new Map()
    gone = new Set()
    unreadable = []
    length = 0
    mark = undefined
    return page
  }
  try {
    for await (const row of rows) {
      mark = row.mark
      if (row.document) {
        documents.set(row.document.id, row.document)
        gone.delete(row.document.id)
        length += row.document.text.length
      } else if (row.gone !== undefined) {
        documents.delete(row.gone)
        gone.add(row.gone)
      } else if (row.unreadable) unreadable.push(row.unreadable)
      if (length >= pageLength || documents.size + gone.size >= pageDocuments) yield take(mark)
    }
  } catch (error) {
    // Documents before the database vanished are stored.
    if (mark !== undefined && error instanceof DatabaseVanished) yield take(mark)
    throw error
  }
  if (mark !== undefined) yield take(mark)
}

export const rowOf = (
  mark: string,
  found: ReadDocument | undefined,
  unreadable: () => { id: string; reason: string } | undefined,
): SourceRow => {
  if (found)
    return found.isDeleted || isDesign(found.document.id) ? { mark } : { mark, document: found.document }
  const fault = unreadable()
  return fault ? { mark, unreadable: fault } : { mark }
}

export const bytesIn = async (
  pieces: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Buffer | 'too large'> => {
  const all: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > mostBytes) return 'too large'
    all.push(piece)
  }
  return Buffer.concat(all)
}

// CouchDB compresses these and reports the digest of the compressed file.
const isCompressed = (type: unknown) => /^text\/|^application\/(?:javascript|json|xml)/.test(String(type))

export const flawOfFile = (
  bytes: Buffer,
  { length, digest, content_type: type }: Json,
): string | undefined => {
  if (typeof length === 'number' && bytes.length !== length)
    return `has ${bytes.length} bytes instead of ${length}`
  const told = /^md5-(.+)$/.exec(String(digest))?.[1]
  return told !== undefined && !isCompressed(type) && told !== hash('md5', bytes, 'base64')
    ? 'is not what its digest says'
    : undefined
}

export const checkedFile = (bytes: Buffer, facts: Json, what: string): Buffer => {
  const flaw = flawOfFile(bytes, facts)
  if (flaw !== undefined) throw new SourceTrouble(`${what} ${flaw}`)
  return bytes
}

const isFile = (path: string) =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** Dumps come from others: paths must stay below the folder. */
export const fileBelow = async (folder: string, paths: readonly (readonly string[])[]) => {
  const root = resolve(folder)
  for (const path of paths) {
    const found = resolve(root, ...path)
    if (found.startsWith(root + sep) && (await isFile(found))) return found
  }
  return undefined
}

export const bytesOfFile = async (path: string, facts: Json, mostBytes: number) => {
  const bytes = await bytesIn(createReadStream(path), mostBytes)
  return bytes === 'too large' ? bytes : checkedFile(bytes, facts, `the file ${basename(path)}`)
}
