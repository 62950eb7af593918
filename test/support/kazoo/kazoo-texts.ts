// Documents as a source gives them.
import type { KazooDocument } from '../../../import-kazoo/documents/document.ts'
import { readDocument } from '../../../import-kazoo/documents/fields.ts'
import type { Json } from '../../../src/lib/json.ts'

/** A document as JSON text, for tests in which the notation of numbers matters. */
export const documentOfText = (database: string, text: string): KazooDocument => {
  const { _id: id, _rev: rev } = JSON.parse(text)
  return readDocument(database, { id, rev, text, fields: JSON.parse(text), conflicts: [] })
}

export const documentOf = (database: string, fields: Json & { _id: string }): KazooDocument =>
  documentOfText(database, JSON.stringify(fields))
