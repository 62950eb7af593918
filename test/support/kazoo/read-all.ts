import type { Source, SourceDocument, SourcePage } from '../../../import-kazoo/source/source.ts'

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

/** A copy that applies changes as they arrive: undefined for deleted documents. */
export const followed = async (source: Source, database: string, since: string) => {
  const copy = new Map<string, SourceDocument | undefined>()
  let sequence = since
  for await (const some of source.changes(database, since)) {
    for (const document of some.documents) copy.set(document.id, document)
    for (const id of some.gone) copy.set(id, undefined)
    sequence = some.mark
  }
  return { copy, sequence }
}

export const readFile = async (source: Source, database: string, id: string, name: string) => {
  const bytes = await source.attachment({ database, id, name }, 1_000_000)
  return bytes?.toString()
}

export const idsOf = (documents: readonly SourceDocument[]) => documents.map(({ id }) => id)
