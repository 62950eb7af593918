// The forms of dumps, told apart by how they begin.
import { parsed } from '../document-text.ts'

export interface DumpForm {
  /** Where its documents stand; see the scanner of items. */
  place: 'within' | 'listed'
  areRows: boolean
  /** A database in each row instead of one for the file. */
  hasDatabases: boolean
}

const documentsWithin: DumpForm = { place: 'within', areRows: false, hasDatabases: false }
const rowsWithin: DumpForm = { place: 'within', areRows: true, hasDatabases: false }
const documentsListed: DumpForm = { place: 'listed', areRows: false, hasDatabases: false }
const rowsListed: DumpForm = { place: 'listed', areRows: true, hasDatabases: false }
const ownLines: DumpForm = { place: 'listed', areRows: true, hasDatabases: true }

// By the first key of the outermost object: what couchdb-dump and the PHP dump write, a saved answer to _all_docs, our
// own lines, couchbackup's header, plain lines of documents and of rows.
const objects: Readonly<Record<string, DumpForm>> = {
  new_edits: documentsWithin,
  docs: documentsWithin,
  total_rows: rowsWithin,
  offset: rowsWithin,
  update_seq: rowsWithin,
  rows: rowsWithin,
  db: ownLines,
  name: documentsListed,
  marker: documentsListed,
  _id: documentsListed,
  id: rowsListed,
  key: rowsListed,
}

const firstKey = (text: string) => /^\s*\{\s*"([^"\\]*)"/.exec(text)?.[1]

const begun = (beginning: string) => beginning.replace(/^\ufeff/, '').trimStart()

/** Whether a text that begins like this may be JSON at all. */
export const isJson = (beginning: string) => /^[{[]/.test(begun(beginning))

/** The form of a text that begins like this; undefined when it is none. */
export const formOf = (beginning: string): DumpForm | undefined => {
  const text = begun(beginning)
  if (text.startsWith('{')) return objects[firstKey(text) ?? '']
  if (!text.startsWith('[')) return undefined
  // A list of documents is couchbackup's, one of rows Kazoo's archive of a month.
  const key = firstKey(text.slice(1))
  return key === 'id' || key === 'key' ? rowsListed : documentsListed
}

export const isGzip = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b

const decodedOnce = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The name of a database, which may be encoded once or twice. */
export const decodedName = (text: string) => decodedOnce(decodedOnce(text))

/** The database that a file or folder is named after. */
export const databaseOfFile = (fileName: string) =>
  decodedName(fileName.replace(/\.gz$/i, '').replace(/\.(?:json|ndjson|jsonl|txt|couch|backup|dump)$/i, ''))

const beginningId = /^\{\s*"(?:_id|id)"\s*:\s*("(?:[^"\\]|\\.)*")/

/** The id at the beginning of a document or row, where it mostly stands; undefined where it does not. */
export const beginningIdOf = (text: string): string | undefined => {
  const found = beginningId.exec(text)?.[1]
  const id = found === undefined ? undefined : parsed(found)
  return typeof id === 'string' ? id : undefined
}
