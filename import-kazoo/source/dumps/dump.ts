// Reads a file or folder of dumps.
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { decodedDatabaseName } from '../../documents/database-names.ts'
import { pagesOf, parsedRow } from '../documents.ts'
import type { Item } from '../items.ts'
import { type Source, SourceTrouble } from '../source.ts'
import { type DumpFile, databaseOfFile, openDumpFile } from './dump-file.ts'
import { createFileDump, type Part } from './file-dump.ts'
import { createFolderDump, type DumpReader, isFolderDump } from './folder-dump.ts'

// A file may mix databases. Beyond this number, stretches of a database are joined; documents of others in
// between are skipped.
const maxStretches = 256

const joinNeighbours = (parts: readonly Part[]) =>
  parts.flatMap((part, at) => (at % 2 === 1 ? [] : [{ ...part, to: (parts[at + 1] ?? part).to }]))

const stretchesIn = async (file: DumpFile) => {
  const found = new Map<string, Part[]>()
  let latest: string | undefined
  const add = ({ text, start, end }: Item) => {
    const { db } = parsedRow(text)
    if (typeof db !== 'string')
      throw new SourceTrouble(`${basename(file.path)} has a line without a database`)
    const database = decodedDatabaseName(db)
    const parts = found.get(database) ?? []
    const last = parts.at(-1)
    if (database === latest && last) last.to = end
    else parts.push({ file, from: start, to: end })
    found.set(database, parts.length > maxStretches ? joinNeighbours(parts) : parts)
    latest = database
  }
  for await (const items of file.items(0)) for (const item of items) add(item)
  return found
}

const partsOf = async (file: DumpFile): Promise<ReadonlyMap<string, readonly Part[]>> => {
  if (!file.form.hasDatabases)
    return new Map([[databaseOfFile(basename(file.path)), [{ file, from: 0, to: undefined }]]])
  await file.unpack()
  return stretchesIn(file)
}

const entriesOf = async (path: string): Promise<string[]> => {
  const facts = await stat(path).catch(() => undefined)
  // A mistyped address may contain a password.
  if (!facts)
    throw new SourceTrouble(`there is no such file or folder${path.includes('@') ? '' : `: ${path}`}`)
  if (!facts.isDirectory() || (await isFolderDump(path))) return [path]
  const names = (await readdir(path)).filter((name) => !name.startsWith('.')).sort()
  return names.map((name) => join(path, name))
}

export const openDump = async (path: string): Promise<Source> => {
  const readers = new Map<string, DumpReader>()
  const parts = new Map<string, Part[]>()
  const files: DumpFile[] = []

  const addFile = async (place: string, bytes: number) => {
    const file = await openDumpFile(place, bytes)
    if (!file) return
    files.push(file)
    for (const [database, some] of await partsOf(file))
      parts.set(database, [...(parts.get(database) ?? []), ...some])
  }

  for (const place of await entriesOf(path)) {
    const facts = await stat(place)
    if (facts.isFile()) await addFile(place, facts.size)
    else if (await isFolderDump(place))
      readers.set(decodedDatabaseName(basename(place)), await createFolderDump(place))
  }
  for (const [database, some] of parts) readers.set(database, createFileDump(database, some))
  if (readers.size === 0) throw new SourceTrouble(`${path} contains no dump`)

  return {
    facts: { title: `the dump ${path}`, canFollow: false },
    databases: async () => [...readers.keys()].sort(),
    async database(name) {
      const reader = readers.get(name)
      return reader && { documents: undefined, bytes: reader.bytes, sequence: undefined }
    },
    async *pages(database, after) {
      const reader = readers.get(database)
      if (reader) yield* pagesOf(reader.rows(after))
    },
    changes: () => {
      throw new SourceTrouble('a dump does not change: use --follow with a database')
    },
    document: async (database, id) => readers.get(database)?.document(id),
    attachment: async ({ database, id, name }, mostBytes) =>
      readers.get(database)?.attachment(id, name, mostBytes),
    async close() {
      for (const file of files) await file.close()
    },
  }
}
