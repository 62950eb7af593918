import { isDesign, type ReadDocument } from './document-text.ts'
import { DatabaseVanished, type SourceDocument, type SourcePage } from './source.ts'

/** What a source says of one document, and where reading continues behind it. */
export interface SourceRow {
  mark: string
  document?: SourceDocument
  /** The id of a document that is deleted. */
  gone?: string
  unreadable?: { id: string; reason: string }
}

// A page ends with so much text or so many documents.
const pageLength = 4 * 1024 * 1024
const pageDocuments = 1000

/** Rows as pages. Of a document that comes twice in one page the last row counts: shards repeat themselves. */
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
    // What came before the database vanished is stored.
    if (mark !== undefined && error instanceof DatabaseVanished) yield take(mark)
    throw error
  }
  if (mark !== undefined) yield take(mark)
}

/** The row of a document in a dump. */
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
