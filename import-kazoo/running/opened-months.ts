// Months are read one behind the other, and there may be a hundred thousand: what their source takes to answer is waited for
// while the month before is taken in.
import { rolloverId } from '../../src/areas/ledgers/rules.ts'
import { isGone, readDocument } from '../documents/fields.ts'
import type { Source, SourcePage } from '../source/source.ts'

/** A month of which the first page was asked for. It is read, or closed; again is harmless. */
export interface OpenedMonth {
  /** All pages from the first on, once. */
  pages(): AsyncGenerator<SourcePage>
  /** Whether it has the document that says what it begins with; undefined: there are more pages, or more sources. */
  hasRollover(database: string, month: number): Promise<boolean | undefined>
  /** Whoever closes it waits neither for an answer nor for a fault: nobody reads them. */
  close(): void
}

/** Asks for the first page of a month, behind something else. A fault is met by whoever reads it. */
export const openMonth = (source: Source, database: string, behind: Promise<unknown>): OpenedMonth => {
  const pages = source.pages(database)[Symbol.asyncIterator]()
  const first = behind.then(() => pages.next())
  first.catch(() => undefined)
  const close = () => void pages.return?.().catch(() => undefined)
  return {
    close,
    async *pages() {
      try {
        for (let next = await first; !next.done; next = await pages.next()) yield next.value
      } finally {
        close()
      }
    },
    async hasRollover(database, month) {
      const { done, value } = await first
      if (done) return false
      if (!value.isLast) return undefined
      const id = rolloverId(month)
      const found = value.documents.find((document) => document.id === id)
      return found !== undefined && !isGone(readDocument(database, found).fields)
    },
  }
}
