// Reads a file or folder of dumps.
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pagesOf, parsedRow } from '../documents.ts'
import type { Item } from '../items.ts'
import { type Source, SourceTrouble } from '../source.ts'
import { type DumpFile, databaseOfFile, decodedName, openDumpFile } from './dump-file.ts'
import { createFileDump, type Part } from './file-dump.ts'
import { createFolderDump, type DumpReader, isFolderDump } from './folder-dump.ts'

// A file may mix databases. Beyond this number, stretches of a database are joined; documents of others in
// between are skipped.
const maxStretches = 256

const stretchesIn = async (file: DumpFile) => {
  const found = new Map<string, number[]>()
  let latest: string | undefined
  const add = ({ text, start, end }: Item) => {
    const { db } = parsedRow(text)
    if (typeof db !== 'string')
      throw new SourceTrouble(`${basename(file.path)} has a line without a database`)
    const database = decodedName(db)
    const ends = found.get(database) ?? []
    if (ends.length === 0) found.set(database, ends)
    if (database === latest) ends[ends.length - 1] = end
    else ends.push(start, end)
    latest = database
    if (ends.length > maxStretches * 2) joinNeighbours(ends)
  }
  for await (const items of file.items(0)) for (const item of items) add(item)
  return found
}

const joinNeighbours = (ends: number[]) => {
  const joined = ends.filter((_, at) => at % 4 === 0 || at % 4 === 3 || at === ends.length - 1)
  ends.splice(0, ends.length, ...joined)
}

const partsOf = async (file: DumpFile): Promise<[string, Part][]> => {
  if (!file.form.hasDatabases)
    return [[databaseOfFile(basename(file.path)), { file, from: 0, to: undefined }]]
  await file.unpack()
  return [...(await stretchesIn(file))].flatMap(([database, ends]) =>
    ends.flatMap((from, at): [string, Part][] =>
      at % 2 === 0 ? [[database, { file, from, to: ends[at + 1] ?? from }]] : [],
    ),
  )
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
  const shelves = new Map<string, DumpReader>()
  const parts = new Map<string, Part[]>()
  const files: DumpFile[] = []

  const addFile = async (place: string, bytes: number) => {
    const file = await openDumpFile(place, bytes)
    if (!file) return
    files.push(file)
    for (const [database, part] of await partsOf(file))
      parts.set(database, [...(parts.get(database) ?? []), part])
  }

  for (const place of await entriesOf(path)) {
    const facts = await stat(place)
    if (facts.isFile()) await addFile(place, facts.size)
    else if (await isFolderDump(place))
      shelves.set(decodedName(basename(place)), await createFolderDump(place))
  }
  for (const [database, some] of parts) shelves.set(database, createFileDump(database, some))
  if (shelves.size === 0) throw new SourceTrouble(`${path} holds no dump`)

  return {
    facts: { kind: 'dump', title: `the dump ${path}`, engine: undefined, canFollow: false },
    databases: async () => [...shelves.keys()].sort(),
    async database(name) {
      const shelf = shelves.get(name)
      return shelf && { documents: undefined, bytes: shelf.bytes, sequence: undefined }
    },
    async *pages(database, after) {
      const shelf = shelves.get(database)
      if (shelf) yield* pagesOf(shelf.rows(after))
    },
    changes: () => {
      throw new SourceTrouble('a dump does not change: there is nothing to follow')
    },
    document: async (database, id) => shelves.get(database)?.document(id),
    attachment: async ({ database, id, name }, mostBytes) =>
      shelves.get(database)?.attachment(id, name, mostBytes),
    async close() {
      for (const file of files) await file.close()
    },
  }
}
