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

export const signs = {
  quote: 0x22,
  comma: 0x2c,
  squareOpen: 0x5b,
  backslash: 0x5c,
  squareClose: 0x5d,
  curlyOpen: 0x7b,
  curlyClose: 0x7d,
} as const

const { quote, comma, squareOpen, backslash, squareClose, curlyOpen, curlyClose } = signs

const endOfString = (text: string, start: number) => {
  let at = start + 1
  for (let sign = text.charCodeAt(at); sign !== quote && at < text.length; sign = text.charCodeAt(at))
    at += sign === backslash ? 2 : 1
  return at
}

/** The position of the comma or bracket after a value. */
const behindValue = (text: string, start: number) => {
  let depth = 0
  let at = start
  for (; at < text.length; at += 1) {
    const sign = text.charCodeAt(at)
    if (sign === quote) at = endOfString(text, at)
    else if (depth === 0 && (sign === comma || sign === curlyClose)) break
    else if (sign === curlyOpen || sign === squareOpen) depth += 1
    else if (sign === curlyClose || sign === squareClose) depth -= 1
  }
  return at
}

interface Member {
  key: string
  /** With its key. */
  text: string
  value: string
}

/** In order. `text` must be valid JSON. */
export const membersIn = (text: string): Member[] => {
  const members: Member[] = []
  for (let at = text.indexOf('"'); at >= 0; ) {
    const behindKey = endOfString(text, at) + 1
    const colon = text.indexOf(':', behindKey)
    const end = behindValue(text, colon + 1)
    const key = String(parsed(text.slice(at, behindKey)))
    members.push({ key, text: text.slice(at, end).trimEnd(), value: text.slice(colon + 1, end).trim() })
    at = text[end] === ',' ? text.indexOf('"', end) : -1
  }
  return members
}

const hasBytes = (file: unknown): file is Json & { data: string } =>
  isObject(file) && typeof file.data === 'string'

const filesIn = ({ _attachments: files }: Json): Json => (isObject(files) ? files : {})

export const bytesWithin = (fields: Json, name: string): Buffer | undefined => {
  const file = filesIn(fields)[name]
  return hasBytes(file) ? Buffer.from(file.data, 'base64') : undefined
}

const stubOf = (file: unknown): unknown => {
  if (!hasBytes(file)) return file
  const { data, follows: _follows, content_type, revpos, digest, ...rest } = file
  const bytes = Buffer.from(data, 'base64')
  const own = { content_type, revpos, digest: digest ?? `md5-${hash('md5', bytes, 'base64')}` }
  return { ...own, ...rest, length: bytes.length, stub: true }
}

/** Removes response members, and replaces files by stubs. */
const bared = (text: string, whole: Json): { text: string; fields: Json } => {
  const fields: Json = Object.fromEntries(Object.entries(whole).filter(([key]) => !ofAnswers.has(key)))
  const files = Object.entries(filesIn(whole)).map(([name, file]) => [name, stubOf(file)])
  if (isObject(whole._attachments)) fields._attachments = Object.fromEntries(files)
  const texts = membersIn(text)
    .filter(({ key }) => !ofAnswers.has(key))
    .map((member) =>
      member.key === '_attachments' ? `"_attachments":${JSON.stringify(fields._attachments)}` : member.text,
    )
  return { text: `{${texts.join(',')}}`, fields }
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

/** Undefined if it is not a document. `whole` has the bytes of inline files. */
export const readDocument = (text: string) => {
  const whole = objectIn(text)
  if (typeof whole?._id !== 'string') return undefined
  const { _id: id, _rev: rev } = whole
  const isBare =
    !Object.values(filesIn(whole)).some(hasBytes) && !Object.keys(whole).some((key) => ofAnswers.has(key))
  const document: SourceDocument = {
    id,
    rev: typeof rev === 'string' ? rev : undefined,
    conflicts: textsIn(whole._conflicts),
    ...(isBare ? { text, fields: whole } : bared(text, whole)),
  }
  return { document, isDeleted: whole._deleted === true, whole }
}

export type ReadDocument = NonNullable<ReturnType<typeof readDocument>>

export const objectIn = (text: string): Json | undefined => {
  const value = parsed(text)
  return isObject(value) ? value : undefined
}

export const parsedRow = (text: string): Json => objectIn(text) ?? {}

export interface SourceRow {
  mark: string
  document?: SourceDocument
  gone?: string
  unreadable?: { id: string; reason: string }
}

// Limits of a page.
const pageLength = 4 * 1024 * 1024
const pageDocuments = 1000

const newPage = () => ({
  documents: new Map<string, SourceDocument>(),
  gone: new Set<string>(),
  unreadable: [] as { id: string; reason: string }[],
  length: 0,
  mark: undefined as string | undefined,
})

/** If a page has a document twice, the last row counts: shards repeat themselves. */
export async function* pagesOf(rows: AsyncIterable<SourceRow>): AsyncGenerator<SourcePage> {
  let page = newPage()
  const take = (): SourcePage[] => {
    const { documents, gone, unreadable, mark } = page
    page = newPage()
    return mark === undefined
      ? []
      : [{ documents: [...documents.values()], gone: [...gone], unreadable, mark }]
  }
  try {
    for await (const { mark, document, gone, unreadable } of rows) {
      page.mark = mark
      if (document) {
        page.documents.set(document.id, document)
        page.gone.delete(document.id)
        page.length += document.text.length
      } else if (gone !== undefined) {
        page.documents.delete(gone)
        page.gone.add(gone)
      } else if (unreadable) page.unreadable.push(unreadable)
      if (page.length >= pageLength || page.documents.size + page.gone.size >= pageDocuments) yield* take()
    }
  } catch (error) {
    // Documents before the database vanished are stored.
    if (error instanceof DatabaseVanished) yield* take()
    throw error
  }
  yield* take()
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
    ? 'does not match its digest'
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
