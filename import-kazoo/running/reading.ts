import type { Chapter, Facts } from '../chapters/chapter.ts'
import { learnJoins } from '../conversions/call-records/operations.ts'
import { type ConvertedLeg, convertCall, isCallRecord, isLoose } from '../conversions/call-records/rules.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { readDocument } from '../documents/fields.ts'
import { DatabaseVanished, type Source, type SourceDocument } from '../source/source.ts'
import { type Batches, largestFile, type Written } from './batches.ts'
import type { MonthPlace } from './months.ts'
import { type DatabaseRow, isVanished, type RunStore, vanishedRow } from './store.ts'

interface Tools {
  run: RunStore
  batches: Batches
  /** Whether what the store has refused is tried again. */
  triesAgain: boolean
  /** Nothing is read behind this look at the source. */
  isLastRound: boolean
  /** Hears of every batch that is stored. */
  onBatch(told: BatchTold): void
}

export interface BatchTold extends Written {
  chapter: string
  database: string
  /** How many documents were looked at. */
  documents: number
}

// One transaction: a larger one would hold up the reads of a server beside it.
const documentsAtOnce = 200

const inParts = <T>(all: readonly T[], size: number) =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

// Files of documents are in memory until they are written.
const fileBytesAtOnce = largestFile

const fileBytesOf = ({ drafts }: Converted) =>
  drafts
    .flatMap(({ files }) => files)
    .reduce((bytes, { length = largestFile }) => bytes + Math.min(length, largestFile), 0)

/** Documents that are stored together: neither too many, nor with too much in their files. */
const inBatches = (all: readonly Converted[]): Converted[][] => {
  const batches: Converted[][] = []
  let bytes = 0
  for (const one of all) {
    const last = batches.at(-1)
    const more = fileBytesOf(one)
    if (last && last.length < documentsAtOnce && bytes + more <= fileBytesAtOnce) {
      last.push(one)
      bytes += more
    } else {
      batches.push([one])
      bytes = more
    }
  }
  return batches
}

const unreadableAs = (database: string, id: string, reason: string): Converted => ({
  document: { database, id, rev: undefined, text: '{}', conflicts: [], fields: {}, type: '' },
  outcome: 'rejected',
  drafts: [],
  findings: [{ severity: 'needs_hand', code: 'unreadable', database, id, old: reason }],
})

const documentsOf = (database: string, found: readonly SourceDocument[]) =>
  found.map((one) => readDocument(database, one))

/** What becomes of the documents of a database, without anything being stored. */
export async function* convertedOf(
  chapter: Chapter,
  facts: Facts,
  database: string,
): AsyncGenerator<readonly Converted[]> {
  const place = { database, facts }
  const all: KazooDocument[] = []
  for await (const { documents, unreadable } of facts.source.pages(database)) {
    const read = documents.map((one) => readDocument(database, one))
    yield unreadable.map(({ id, reason }) => unreadableAs(database, id, reason))
    if (chapter.reads === 'whole') all.push(...read)
    else yield chapter.convert(read, place)
  }
  if (chapter.reads === 'whole') yield chapter.convert(all, place)
}

/** The legs of a month, without anything being stored. */
export async function* legsIn(
  source: Source,
  { accountId, database }: Pick<MonthPlace, 'accountId' | 'database'>,
): AsyncGenerator<readonly ConvertedLeg[]> {
  const pages = async function* () {
    for await (const { documents, mark } of source.pages(database))
      yield { mark, documents: documentsOf(database, documents).filter(isCallRecord) }
  }
  let joins: ReturnType<typeof learnJoins> | undefined
  for await (const { documents } of pages()) {
    if (documents.some(isLoose)) joins ??= learnJoins(pages)
    const known = await joins
    yield documents.flatMap((document) => {
      const converted = convertCall(document, { accountId, joins: known })
      return converted.outcome === 'leg' ? [converted] : []
    })
  }
}

/** Reads databases of a source chapter by chapter: from their beginning, from where it was left, or what has changed since. */
export const createReading = ({ run, batches, triesAgain, isLastRound, onBatch }: Tools) => {
  const begun = (chapter: Chapter, name: string): DatabaseRow => ({
    name,
    chapter: chapter.name,
    mark: undefined,
    sequence: undefined,
    isWhole: false,
    documents: 0,
    notes: {},
  })

  const store = async (
    chapter: Chapter,
    facts: Facts,
    what: { converted: readonly Converted[]; gone: readonly string[]; position: DatabaseRow },
  ) => {
    const { name: database } = what.position
    const { source, masterId } = facts
    // It is looked at because it, or what it stands beside, has changed.
    const written = await batches.store({ source, database, masterId, triesAgain: true, ...what })
    onBatch({ chapter: chapter.name, database, documents: what.converted.length, ...written })
  }

  /** Stores documents; only with the last of them the place is reached that lies behind them. */
  const storeAll = async (
    chapter: Chapter,
    facts: Facts,
    {
      converted,
      gone,
      before,
      behind,
    }: {
      converted: readonly Converted[]
      gone: readonly string[]
      before: DatabaseRow
      behind: DatabaseRow
    },
  ) => {
    // What is gone makes room for what comes: names, above all.
    for (const some of inParts(gone, documentsAtOnce))
      await store(chapter, facts, { converted: [], gone: some, position: before })
    const parts = inBatches(converted)
    const last = parts.pop() ?? []
    for (const some of parts) await store(chapter, facts, { converted: some, gone: [], position: before })
    await store(chapter, facts, { converted: last, gone: [], position: behind })
  }

  /** The documents that were stored of a database, and are not in it any more. */
  const goneOf = async (database: string, present: ReadonlySet<string>) => {
    const gone: string[] = []
    for await (const ids of run.ids(database)) gone.push(...ids.filter((id) => !present.has(id)))
    return gone
  }

  const readWhole = async (
    chapter: Chapter,
    facts: Facts,
    row: DatabaseRow,
    sequence: string | undefined,
  ) => {
    const { name: database } = row
    const found: KazooDocument[] = []
    const flawed: Converted[] = []
    for await (const page of facts.source.pages(database)) {
      found.push(...documentsOf(database, page.documents))
      flawed.push(...page.unreadable.map(({ id, reason }) => unreadableAs(database, id, reason)))
    }
    const converted = [...(await chapter.convert(found, { database, facts })), ...flawed]
    const gone = await goneOf(database, new Set(converted.map(({ document }) => document.id)))
    const behind = { ...row, mark: undefined, sequence, isWhole: true, documents: converted.length }
    await storeAll(chapter, facts, { converted, gone, before: row, behind })
  }

  const readPages = async (
    chapter: Chapter,
    facts: Facts,
    row: DatabaseRow,
    sequence: string | undefined,
  ) => {
    const { name: database } = row
    // Where changes begin was noted before the first page.
    let position: DatabaseRow = row.mark === undefined ? { ...row, sequence } : row
    const present = new Set<string>()
    const isAgain = row.isWhole
    for await (const page of facts.source.pages(database, isAgain ? undefined : row.mark)) {
      const converted = [
        ...(await chapter.convert(documentsOf(database, page.documents), { database, facts })),
        ...page.unreadable.map(({ id, reason }) => unreadableAs(database, id, reason)),
      ]
      if (isAgain) for (const { document } of converted) present.add(document.id)
      const count = isAgain ? position.documents : position.documents + converted.length
      const behind = { ...position, mark: isAgain ? undefined : page.mark, documents: count }
      await storeAll(chapter, facts, { converted, gone: [], before: position, behind })
      position = behind
    }
    const gone = isAgain ? await goneOf(database, present) : []
    const behind = { ...position, mark: undefined, isWhole: true }
    await storeAll(chapter, facts, { converted: [], gone, before: position, behind })
  }

  const readChanges = async (chapter: Chapter, facts: Facts, row: DatabaseRow, since: string) => {
    let position = row
    for await (const { documents, gone, mark: sequence } of facts.source.changes(row.name, since)) {
      const before = position
      position = { ...position, sequence }
      if (chapter.reads === 'whole') {
        if (documents.length + gone.length > 0) return readWhole(chapter, facts, row, sequence)
        continue
      }
      const converted = await chapter.convert(documentsOf(row.name, documents), { database: row.name, facts })
      await storeAll(chapter, facts, { converted, gone, before, behind: position })
    }
    if (position.sequence !== row.sequence) await store(chapter, facts, { converted: [], gone: [], position })
  }

  /** What the store has refused, as it stands now. */
  const readRefused = async (chapter: Chapter, facts: Facts, row: DatabaseRow) => {
    const { name: database } = row
    for (const some of inParts(await run.refused(database), documentsAtOnce)) {
      const found = await Promise.all(some.map((id) => facts.source.document(database, id)))
      const documents = documentsOf(
        database,
        found.flatMap((one) => one ?? []),
      )
      const converted = await chapter.convert(documents, { database, facts })
      await storeAll(chapter, facts, { converted, gone: [], before: row, behind: row })
    }
  }

  /** What has changed since, and what the store has refused before. */
  const readFurther = async (chapter: Chapter, facts: Facts, row: DatabaseRow, since: string) => {
    await readChanges(chapter, facts, row, since)
    if (!triesAgain || (await run.refused(row.name)).length === 0) return
    const reached = (await run.database(row.name)) ?? row
    if (chapter.reads === 'whole') await readWhole(chapter, facts, reached, reached.sequence)
    else await readRefused(chapter, facts, reached)
  }

  const readThere = async (chapter: Chapter, facts: Facts, row: DatabaseRow) => {
    const found = await facts.source.database(row.name)
    if (!found) throw new DatabaseVanished(`the database ${row.name} is not there any more`)
    const position = isVanished(row) ? { ...row, notes: {} } : row
    const readsAll = isLastRound && chapter.dependsOnOthers === true
    if (position.isWhole && position.sequence !== undefined && facts.source.facts.canFollow && !readsAll)
      return readFurther(chapter, facts, position, position.sequence)
    if (chapter.reads === 'whole') return readWhole(chapter, facts, position, found.sequence)
    return readPages(chapter, facts, position, found.sequence)
  }

  return {
    /** Reads what is not stored yet of a database; of one that goes meanwhile it is noted. */
    async read(chapter: Chapter, facts: Facts, name: string) {
      const row = (await run.database(name)) ?? begun(chapter, name)
      try {
        await readThere(chapter, facts, row)
      } catch (error) {
        if (!(error instanceof DatabaseVanished)) throw error
        await batches.note(vanishedRow((await run.database(name)) ?? row))
      }
    },
  }
}
