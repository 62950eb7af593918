import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { convertAccount as convertAccountDocument } from '../conversions/accounts.rules.ts'
import { learnJoins } from '../conversions/call-import.ts'
import { type ConvertedLeg, convertCall, isCallRecord, isLoose } from '../conversions/call-records.rules.ts'
import { finding } from '../conversions/findings.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { readDocument } from '../documents/fields.ts'
import type { Chapter, Facts } from '../import-sections/section.ts'
import { DatabaseVanished, type Source, type SourceDocument, unlessVanished } from '../source/source.ts'
import { inParts } from './at-once.ts'
import { type Batch, type Batches, largestFile, type Written } from './batches.ts'
import type { MonthPlace } from './months.ts'
import { type DatabaseRow, isVanished, type RunStore, vanishedRow } from './store.ts'

interface Deps {
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

/** What becomes of the documents of a database, page by page; where a chapter needs all of them at once, in one page. */
async function* convertedPages(
  chapter: Chapter,
  facts: Facts,
  database: string,
  after?: string,
): AsyncGenerator<{ converted: readonly Converted[]; mark?: string }> {
  const place = { database, facts }
  const all: KazooDocument[] = []
  const flawed: Converted[] = []
  for await (const { documents, unreadable, mark } of facts.source.pages(database, after)) {
    const read = documentsOf(database, documents)
    const faults = unreadable.map(({ id, reason }) => unreadableAs(database, id, reason))
    if (chapter.reads === 'pages')
      yield { converted: [...(await chapter.convert(read, place)), ...faults], mark }
    else {
      all.push(...read)
      flawed.push(...faults)
    }
  }
  if (chapter.reads === 'whole') yield { converted: [...(await chapter.convert(all, place)), ...flawed] }
}

/** What becomes of the documents of a database, without anything being stored. */
export async function* convertedOf(
  chapter: Chapter,
  facts: Facts,
  database: string,
): AsyncGenerator<readonly Converted[]> {
  for await (const { converted } of convertedPages(chapter, facts, database)) yield converted
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

/** The place of a database of which nothing is read yet. */
export const begun = (chapter: string, name: string): DatabaseRow => ({
  name,
  chapter,
  mark: undefined,
  sequence: undefined,
  isWhole: false,
  documents: 0,
  notes: {},
})

type Stored = Pick<Batch, 'converted' | 'gone' | 'position' | 'triesAgain'>

const accountsAtOnce = 50
const accountsChapter = 'accounts'

/** The account was deleted while it was imported: what goes with it here, a person must decide. */
const goneMeanwhile = (id: string) =>
  finding({ database: accountDatabase(id), id }, 'needs_hand', 'account_gone_meanwhile')

/** Reads databases of a source chapter by chapter: from their beginning, from where it was left, or what has changed since. */
export const createReading = ({ run, batches, triesAgain, isLastRound, onBatch }: Deps) => {
  const store = async (chapter: string, { source, masterId }: Facts, what: Stored) => {
    const { name: database } = what.position
    const written = await batches.store({ source, database, masterId, ...what })
    onBatch({ chapter, database, documents: what.converted.length, ...written })
  }

  /** Stores documents; only with the last of them the place is reached that lies behind them. */
  const storeAll = async (
    { name }: Chapter,
    facts: Facts,
    {
      converted,
      gone,
      before,
      behind,
    }: Pick<Stored, 'converted' | 'gone'> & Record<'before' | 'behind', DatabaseRow>,
  ) => {
    // It is looked at because it, or what it stands beside, has changed.
    const common = { converted: [], gone: [], position: before, triesAgain: true }
    // What is gone makes room for what comes: names, above all.
    for (const some of inParts(gone, documentsAtOnce)) await store(name, facts, { ...common, gone: some })
    const parts = inBatches(converted)
    const last = parts.pop() ?? []
    for (const some of parts) await store(name, facts, { ...common, converted: some })
    await store(name, facts, { ...common, converted: last, position: behind })
  }

  /** The documents that were stored of a database, and are not in it any more. */
  const goneOf = async (database: string, present: ReadonlySet<string>) => {
    const gone: string[] = []
    for await (const ids of run.ids(database)) gone.push(...ids.filter((id) => !present.has(id)))
    return gone
  }

  const readAll = async (chapter: Chapter, facts: Facts, row: DatabaseRow, sequence: string | undefined) => {
    const { name: database } = row
    const isWhole = chapter.reads === 'whole'
    const isAgain = isWhole || row.isWhole
    // Where changes begin is noted with the first page. What is read again is as before until all of it is stored.
    let position: DatabaseRow = isAgain || row.mark !== undefined ? row : { ...row, sequence }
    const present = new Set<string>()
    let last: readonly Converted[] = []
    for await (const { converted, mark } of convertedPages(
      chapter,
      facts,
      database,
      isAgain ? undefined : row.mark,
    )) {
      if (isAgain) for (const { document } of converted) present.add(document.id)
      if (isWhole) {
        last = converted
        continue
      }
      const documents = position.documents + converted.length
      const behind = isAgain ? position : { ...position, mark, documents }
      await storeAll(chapter, facts, { converted, gone: [], before: position, behind })
      position = behind
    }
    const gone = isAgain ? await goneOf(database, present) : []
    const end: DatabaseRow = { ...position, mark: undefined, isWhole: true }
    const behind = isAgain ? { ...end, sequence, documents: present.size } : end
    await storeAll(chapter, facts, { converted: last, gone, before: position, behind })
  }

  const readChanges = async (chapter: Chapter, facts: Facts, row: DatabaseRow, since: string) => {
    let position = row
    for await (const { documents, gone, mark: sequence } of facts.source.changes(row.name, since)) {
      const before = position
      position = { ...position, sequence }
      if (chapter.reads === 'whole') {
        if (documents.length + gone.length > 0) return readAll(chapter, facts, row, sequence)
        continue
      }
      const converted = await chapter.convert(documentsOf(row.name, documents), { database: row.name, facts })
      await storeAll(chapter, facts, { converted, gone, before, behind: position })
    }
    if (position.sequence !== row.sequence)
      await storeAll(chapter, facts, { converted: [], gone: [], before: row, behind: position })
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
    if (chapter.reads === 'whole') await readAll(chapter, facts, reached, reached.sequence)
    else await readRefused(chapter, facts, reached)
  }

  const readThere = async (chapter: Chapter, facts: Facts, row: DatabaseRow) => {
    const found = await facts.source.database(row.name)
    if (!found) throw new DatabaseVanished(`the database ${row.name} is not there any more`)
    const position = isVanished(row) ? { ...row, notes: {} } : row
    const readsAll = isLastRound && chapter.dependsOnOthers === true
    if (position.isWhole && position.sequence !== undefined && facts.source.facts.canFollow && !readsAll)
      return readFurther(chapter, facts, position, position.sequence)
    return readAll(chapter, facts, position, found.sequence)
  }

  const convertAccount = async ({ source, plan }: Facts, id: string, ofPlan: readonly Finding[]) => {
    const planned = plan.accounts.get(id)
    const found = planned && (await source.document(planned.source, id))
    if (!planned || !found) return []
    const converted = convertAccountDocument(readDocument(planned.source, found), plan)
    // What was found while the tree was planned is reported with the account.
    return [{ ...converted, findings: [...ofPlan, ...converted.findings] }]
  }

  return {
    /** The accounts themselves: before everything else, each behind its ancestors. */
    async readAccounts(facts: Facts, masterId: string) {
      const findings = Map.groupBy(facts.plan.findings, ({ id }) => id)
      const position = {
        ...begun(accountsChapter, copiesDatabase),
        isWhole: true,
        documents: facts.accounts.size,
      }
      const batch = {
        source: facts.source,
        database: copiesDatabase,
        masterId,
        gone: [],
        triesAgain,
        position,
      }
      for (const ids of inParts([...facts.accounts.keys()], accountsAtOnce)) {
        const all = await Promise.all(ids.map((id) => convertAccount(facts, id, findings.get(id) ?? [])))
        const converted = all.flat()
        const written = await batches.store({ ...batch, converted })
        onBatch({
          chapter: accountsChapter,
          database: copiesDatabase,
          documents: converted.length,
          ...written,
        })
      }
      for await (const known of run.ids(copiesDatabase)) {
        const gone = known.filter((id) => !facts.accounts.has(id))
        if (gone.length > 0) await batches.tell({ ...batch, converted: [] }, gone.map(goneMeanwhile))
      }
    },

    /** Reads what is not stored yet of a database; of one that goes meanwhile it is noted. */
    async read(chapter: Chapter, facts: Facts, name: string) {
      const row = (await run.database(name)) ?? begun(chapter.name, name)
      if (!(await unlessVanished(() => readThere(chapter, facts, row))))
        await batches.note(vanishedRow((await run.database(name)) ?? row))
    },
  }
}
