// Documents of a Kazoo, written down in tests.
import { readDocument } from '../../../import-kazoo/documents/fields.ts'
import type { Json } from '../../../src/lib/json.ts'

/** A document as a source returns it. `text` is its JSON where that contains more than the object. */
export const kazooDocument = (
  database: string,
  fields: Json & { _id: string },
  { conflicts = [], text = JSON.stringify(fields) }: { conflicts?: readonly string[]; text?: string } = {},
) => readDocument(database, { id: fields._id, rev: '1-a', text, fields: JSON.parse(text), conflicts })
