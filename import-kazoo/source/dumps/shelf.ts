import type { SourceDocument, SourcePage } from '../source.ts'

/** A database of a dump. */
export interface Shelf {
  bytes: number
  pages(after?: string): AsyncIterable<SourcePage>
  document(id: string): Promise<SourceDocument | undefined>
  attachment(id: string, name: string): Promise<AsyncIterable<Uint8Array> | undefined>
}

// A page ends with so much text or so many documents.
const pageLength = 4 * 1024 * 1024
const pageDocuments = 1000

/** Gathers documents into pages. */
export const createPageOf = () => {
  let documents: SourceDocument[] = []
  let unreadable: { id: string; reason: string }[] = []
  let length = 0
  let mark: string | undefined
  return {
    add(document: SourceDocument) {
      documents.push(document)
      length += document.text.length
    },
    report: (id: string, reason: string) => void unreadable.push({ id, reason }),
    /** What has been looked at. */
    reach(place: string) {
      mark = place
    },
    isFull: () => length >= pageLength || documents.length >= pageDocuments,
    /** What has come since the last page; undefined when nothing has. */
    take(): SourcePage | undefined {
      if (mark === undefined) return undefined
      const page = { documents, unreadable, mark }
      documents = []
      unreadable = []
      length = 0
      mark = undefined
      return page
    },
  }
}
