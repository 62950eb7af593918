// Months are read one behind the other, and there may be a hundred thousand: what their source takes to answer is waited for
// while the month before is taken in.
import { rolloverId } from '../../ledgers/rules.ts'
import { isGone, readDocument } from '../documents/fields.ts'
import type { Source, SourcePage } from '../source/source.ts'

/** A month of which the first page was asked for. It is read, or closed. */
export interface OpenedMonth {
  /** All pages from the first on, once. */
  pages(): AsyncGenerator<SourcePage>
  /** Whether it has the document that says what it begins with; undefined: the first page does not tell. */
  hasRollover(database: string, month: number): Promise<boolean | undefined>
  close(): Promise<void>
}

/** Asks for the first page of a month, behind something else. A fault is met by whoever reads it. */
export const openMonth = (source: Source, database: string, behind: Promise<unknown>): OpenedMonth => {
  const pages = source.pages(database)[Symbol.asyncIterator]()
  const first = behind.then(() => pages.next())
  first.catch(() => undefined)
  const close = async () => void (await pages.return?.())
  return {
    close,
    async *pages() {
      try {
        for (let next = await first; !next.done; next = await pages.next()) yield next.value
      } finally {
        await close()
      }
    },
    async hasRollover(database, month) {
      const { done, value } = await first
      if (done) return false
      const id = rolloverId(month)
      const found = value.documents.find((document) => document.id === id)
      if (found) return !isGone(readDocument(database, found).fields)
      return value.isLast ? false : undefined
    },
  }
}
