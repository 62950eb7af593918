import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createCsvParser } from '../../../src/lib/csv-parse.ts'
import { isObject } from '../../../src/lib/json.ts'
import { bytesOfFile, fileBelow, readDocument, rowOf, type SourceRow } from '../documents.ts'
import type { SourceDocument } from '../source.ts'

export interface DumpReader {
  bytes: number
  rows(after?: string): AsyncIterable<SourceRow>
  document(id: string): Promise<SourceDocument | undefined>
  attachment(id: string, name: string, mostBytes: number): Promise<Buffer | 'too large' | undefined>
}

const documentsFolder = 'docs'
const indexName = 'attachment-index.csv'

/** Whether the folder is a database. */
export const isFolderDump = (path: string) =>
  stat(join(path, documentsFolder)).then(
    (found) => found.isDirectory(),
    () => false,
  )

async function* recordsOf(path: string) {
  const parser = createCsvParser()
  for await (const piece of createReadStream(path)) yield* parser.push(piece)
  yield* parser.end()
}

export const createFolderDump = async (path: string): Promise<DumpReader> => {
  const folder = join(path, documentsFolder)

  const fileNames = async () => (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()

  const read = async (fileName: string) => readDocument(await readFile(join(folder, fileName), 'utf8'))

  async function* rows(after = ''): AsyncGenerator<SourceRow> {
    for (const fileName of await fileNames())
      if (fileName > after)
        yield rowOf(fileName, await read(fileName), () => ({
          id: fileName,
          reason: 'it is not JSON, or has no id',
        }))
  }

  /** By the usual file name, else by searching. */
  const document = async (id: string) => {
    const usual = await fileBelow(folder, [[`${encodeURIComponent(id)}.json`], [`${id}.json`]])
    const found = usual === undefined ? undefined : readDocument(await readFile(usual, 'utf8'))
    if (found?.document.id === id) return found.isDeleted ? undefined : found.document
    for await (const { document: other } of rows()) if (other?.id === id) return other
    return undefined
  }

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
    rows,
    document,
    async attachment(id, name, mostBytes) {
      const stubs = (await document(id))?.fields?._attachments
      const facts = isObject(stubs) ? stubs[name] : undefined
      const found = isObject(facts) ? await pathOf(id, name) : undefined
      return isObject(facts) && found !== undefined ? bytesOfFile(found, facts, mostBytes) : undefined
    },
  }
}
