import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createCsvParser } from '../../../src/lib/csv-parse.ts'
import { isObject } from '../../../src/lib/json.ts'
import { bytesOfFile, fileBelow, readDocument, rowOf, type SourceRow } from '../documents.ts'
import type { Source, SourceDocument } from '../source.ts'

export interface DumpReader {
  bytes: number
  rows(after?: string): AsyncIterable<SourceRow>
  document(id: string): Promise<SourceDocument | undefined>
  attachment(id: string, name: string, mostBytes: number): ReturnType<Source['attachment']>
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

/** The folder of the documents or the one around it has an index of files. */
const fileOf = async (path: string, id: string, name: string) => {
  const folders = [join(path, documentsFolder), path]
  for (const folder of folders) {
    const index = await fileBelow(folder, [[indexName]])
    if (index === undefined) continue
    for await (const { cells } of recordsOf(index)) {
      if (cells[0] !== id || cells[1] !== name) continue
      const [inner, outer] = await Promise.all(folders.map((one) => fileBelow(one, [[cells[2] ?? '']])))
      return inner ?? outer
    }
  }
  return undefined
}

export const createFolderDump = async (path: string): Promise<DumpReader> => {
  const folder = join(path, documentsFolder)
  const read = async (file: string) => readDocument(await readFile(file, 'utf8'))

  async function* rows(after = ''): AsyncGenerator<SourceRow> {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && name > after)
    for (const name of names.sort())
      yield rowOf(name, await read(join(folder, name)), () => ({
        id: name,
        reason: 'it is not JSON, or has no id',
      }))
  }

  /** By the usual file name, else by searching. */
  const document = async (id: string) => {
    const usual = await fileBelow(folder, [[`${encodeURIComponent(id)}.json`], [`${id}.json`]])
    const found = usual === undefined ? undefined : await read(usual)
    if (found?.document.id === id) return found.isDeleted ? undefined : found.document
    for await (const { document: other } of rows()) if (other?.id === id) return other
    return undefined
  }

  return {
    bytes: (await stat(folder)).size,
    rows,
    document,
    async attachment(id, name, mostBytes) {
      const stubs = (await document(id))?.fields?._attachments
      const facts = isObject(stubs) ? stubs[name] : undefined
      const file = isObject(facts) ? await fileOf(path, id, name) : undefined
      return isObject(facts) && file !== undefined ? bytesOfFile(file, facts, mostBytes) : undefined
    },
  }
}
