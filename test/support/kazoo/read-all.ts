import { text } from 'node:stream/consumers'
import type { Source, SourceChange, SourceDocument, SourcePage } from '../../../import-kazoo/source/source.ts'

/** What a database gives from its beginning or from behind a mark. */
export const readPages = async (source: Source, database: string, after?: string): Promise<SourcePage[]> => {
  const pages: SourcePage[] = []
  for await (const page of source.pages(database, after)) pages.push(page)
  return pages
}

export const readDocuments = async (source: Source, database: string, after?: string) =>
  (await readPages(source, database, after)).flatMap(({ documents }) => documents)

/** The text of each document, by database and id. */
export const readTexts = async (source: Source): Promise<Map<string, string>> => {
  const found = new Map<string, string>()
  for (const database of await source.databases())
    for (const { id, text: content } of await readDocuments(source, database))
      found.set(`${database} ${id}`, content)
  return found
}

/** What becomes of a copy that takes changes in as they come. */
export const followed = async (source: Source, database: string, since: string) => {
  const copy = new Map<string, SourceChange>()
  let sequence = since
  for await (const some of source.changes(database, since)) {
    for (const change of some.changes) copy.set(change.id, change)
    sequence = some.sequence
  }
  return { copy, sequence }
}

export const readFile = async (source: Source, database: string, id: string, name: string) => {
  const pieces = await source.attachment({ database, id, name })
  return pieces && text(pieces)
}

export const idsOf = (documents: readonly SourceDocument[]) => documents.map(({ id }) => id)
