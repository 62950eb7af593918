// A database as a folder: a file for each document, and an index of the files that belong to them.
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createCsvParser } from '../../../src/lib/csv-parse.ts'
import { isObject } from '../../../src/lib/json.ts'
import { isDesign, readDocument } from '../document-text.ts'
import type { SourcePage } from '../source.ts'
import { bytesOfFile, fileBelow } from './files-beside.ts'
import { createPageOf, type Shelf } from './shelf.ts'

const documentsFolder = 'docs'
const indexName = 'attachment-index.csv'

/** Whether a folder is a database. */
export const isFolderShelf = (path: string) =>
  stat(join(path, documentsFolder)).then(
    (found) => found.isDirectory(),
    () => false,
  )

async function* recordsOf(path: string) {
  const parser = createCsvParser()
  for await (const piece of createReadStream(path)) yield* parser.push(piece)
  yield* parser.end()
}

export const createFolderShelf = async (path: string): Promise<Shelf> => {
  const folder = join(path, documentsFolder)

  const fileNames = async () => (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()

  const read = async (fileName: string) => readDocument(await readFile(join(folder, fileName), 'utf8'))

  async function* pages(after = ''): AsyncGenerator<SourcePage> {
    const page = createPageOf()
    for (const fileName of await fileNames()) {
      if (fileName <= after) continue
      const found = await read(fileName)
      page.reach(fileName)
      if (found && !found.isDeleted && !isDesign(found.document.id)) page.add(found.document)
      else if (!found) page.report(fileName, 'it is not JSON, or has no id')
      const full = page.isFull() ? page.take() : undefined
      if (full) yield full
    }
    const rest = page.take()
    if (rest) yield rest
  }

  /** By its usual name, or whatever the file is called. */
  const document = async (id: string) => {
    const usual = await fileBelow(folder, [[`${encodeURIComponent(id)}.json`], [`${id}.json`]])
    const found = usual === undefined ? undefined : readDocument(await readFile(usual, 'utf8'))
    if (found?.document.id === id) return found.isDeleted ? undefined : found.document
    for await (const page of pages()) {
      const other = page.documents.find((one) => one.id === id)
      if (other) return other
    }
    return undefined
  }

  /** What the index calls the file of a document. */
  const pathOf = async (id: string, name: string) => {
    for (const place of [folder, path]) {
      const index = await fileBelow(place, [[indexName]])
      if (index === undefined) continue
      for await (const { cells } of recordsOf(index))
        if (cells[0] === id && cells[1] === name)
          return (await fileBelow(folder, [[cells[2] ?? '']])) ?? (await fileBelow(path, [[cells[2] ?? '']]))
    }
    return undefined
  }

  return {
    bytes: (await stat(folder)).size,
    pages,
    document,
    async attachment(id, name) {
      const stubs = (await document(id))?.fields?._attachments
      const facts = isObject(stubs) ? stubs[name] : undefined
      const found = isObject(facts) ? await pathOf(id, name) : undefined
      return isObject(facts) && found !== undefined ? bytesOfFile(found, facts) : undefined
    },
  }
}
