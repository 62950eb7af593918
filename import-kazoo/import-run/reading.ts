import { inParts } from '../../src/lib/list.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { convertAccount as convertAccountDocument } from '../conversions/accounts.rules.ts'
import { learnJoins } from '../conversions/call-import.ts'
import { type ConvertedLeg, convertCall, isCallRecord, isLoose } from '../conversions/call-records.rules.ts'
import { finding, unconverted } from '../conversions/findings.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { readDocument } from '../documents/fields.ts'
import { documentPages, emptyDocument, type Facts, type ImportSection } from '../import-sections/section.ts'
import { DatabaseVanished, type Source, type SourceDocument, unlessVanished } from '../source/source.ts'
import { type Batch, type Batches, largestFile, type Written } from './batches.ts'
import { type DatabaseRow, isVanished, type RunStore, vanishedRow } from './store.ts'

export interface ReadingDeps {
  run: RunStore
  batches: Batches
  triesAgain: boolean
  isLastPass: boolean
  onBatch(progress: BatchProgress): void
}

export interface BatchProgress extends Written {
  chapter: string
  database: string
  documents: number
}

// A larger transaction would delay reads of a running server.
const documentsAtOnce = 200

const fileBytesOf = ({ drafts }: Converted) =>
  drafts
    .flatMap(({ files }) => files)
    .reduce((bytes, { length = largestFile }) => bytes + Math.min(length, largestFile), 0)

/** Files are in memory until they are written, so their size limits a batch, too. */
const inBatches = (all: readonly Converted[]) =>
  inParts(all, documentsAtOnce).flatMap((some) => inParts(some, largestFile, fileBytesOf))

const unreadableAs = (database: string, id: string, reason: string) =>
  unconverted(emptyDocument(database, id), 'rejected', 'needs_hand', 'unreadable', { old: reason })

const documentsOf = (database: string, found: readonly SourceDocument[]) =>
  found.map((one) => readDocument(database, one))

/** Yields one page if the section needs all documents at once. */
export async function* convertedPages(
  chapter: ImportSection,
  facts: Facts,
  database: string,
  after?: string,
): AsyncGenerator<{ converted: readonly Converted[]; mark?: string }> {
  const place = { database, facts }
  const all: KazooDocument[] = []
  const flawed: Converted[] = []
  for await (const { documents, unreadable, mark } of facts.source.pages(database, after)) {
    all.push(...documentsOf(database, documents))
    flawed.push(...unreadable.map(({ id, reason }) => unreadableAs(database, id, reason)))
    if (chapter.reads === 'whole') continue
    yield { converted: [...(await chapter.convert(all.splice(0), place)), ...flawed.splice(0)], mark }
  }
  if (chapter.reads === 'whole') yield { converted: [...(await chapter.convert(all, place)), ...flawed] }
}

export async function* legsIn(
  source: Source,
  { accountId, database }: { accountId: string; database: string },
): AsyncGenerator<readonly ConvertedLeg[]> {
  const pages = async function* () {
    for await (const { documents, mark } of documentPages(source, database))
      yield { mark, documents: documents.filter(isCallRecord) }
  }
  let joins: Awaited<ReturnType<typeof learnJoins>> | undefined
  for await (const { documents } of pages()) {
    if (documents.some(isLoose)) joins ??= await learnJoins(pages)
    yield documents.flatMap((document) => {
      const converted = convertCall(document, { accountId, joins })
      return converted.outcome === 'leg' ? [converted] : []
    })
  }
}

export const begun = (chapter: string, name: string): DatabaseRow => ({
  ...{ name, chapter, mark: undefined, sequence: undefined, isWhole: false, documents: 0, notes: {} },
})

interface Storing extends Pick<Batch, 'converted'>, Partial<Pick<Batch, 'gone'>> {
  before: DatabaseRow
  behind: DatabaseRow
}

const accountsAtOnce = 50
const accountsChapter = 'accounts'

/** The account was deleted during the import: a person must decide about its records. */
const goneMeanwhile = (id: string) =>
  finding({ database: accountDatabase(id), id }, 'needs_hand', 'account_gone_meanwhile')

const convertAccount = async ({ source, plan }: Facts, id: string, ofPlan: readonly Finding[]) => {
  const planned = plan.accounts.get(id)
  const found = planned && (await source.document(planned.source, id))
  if (!planned || !found) return []
  const converted = convertAccountDocument(readDocument(planned.source, found), plan)
  // Findings of the plan are reported with the account.
  return [{ ...converted, findings: [...ofPlan, ...converted.findings] }]
}

const goneOf = async (run: RunStore, database: string, present: ReadonlySet<string>) => {
  const gone: string[] = []
  for await (const ids of run.ids(database)) gone.push(...ids.filter((id) => !present.has(id)))
  return gone
}

/** Reads databases from the beginning, from a position, or their changes. */
export const createReading = ({ run, batches, triesAgain, isLastPass, onBatch }: ReadingDeps) => {
  const store = async (chapter: string, batch: Batch) => {
    const written = await batches.store(batch)
    onBatch({ chapter, database: batch.database, documents: batch.converted.length, ...written })
  }

  /** The last transaction stores the position `behind`. */
  const storeAll = async (
    { name }: ImportSection,
    { source, masterId }: Facts,
    { converted, gone = [], before, behind }: Storing,
  ) => {
    const parts = [
      // Removals free names first.
      ...inParts(gone, documentsAtOnce).map((some) => ({ converted: [], gone: some })),
      ...inBatches(converted).map((some) => ({ converted: some, gone: [] })),
    ]
    const last = parts.pop() ?? { converted: [], gone: [] }
    // Tried again, because the document or its context has changed.
    const place = { source, masterId, database: before.name, triesAgain: true }
    for (const part of parts) await store(name, { ...place, ...part, position: before })
    await store(name, { ...place, ...last, position: behind })
  }

  const readAll = async (
    chapter: ImportSection,
    facts: Facts,
    row: DatabaseRow,
    sequence: string | undefined,
  ) => {
    const isWhole = chapter.reads === 'whole'
    const isAgain = isWhole || row.isWhole
    // Changes begin at the first page. A repeated reading moves the position only at its end.
    let position: DatabaseRow = isAgain || row.mark !== undefined ? row : { ...row, sequence }
    const present = new Set<string>()
    let last: readonly Converted[] = []
    const after = isAgain ? undefined : row.mark
    for await (const { converted, mark } of convertedPages(chapter, facts, row.name, after)) {
      if (isAgain) for (const { document } of converted) present.add(document.id)
      if (isWhole) last = converted
      else {
        const documents = position.documents + converted.length
        const behind = isAgain ? position : { ...position, mark, documents }
        await storeAll(chapter, facts, { converted, before: position, behind })
        position = behind
      }
    }
    const gone = isAgain ? await goneOf(run, row.name, present) : []
    const end: DatabaseRow = { ...position, mark: undefined, isWhole: true }
    const behind = isAgain ? { ...end, sequence, documents: present.size } : end
    await storeAll(chapter, facts, { converted: last, gone, before: position, behind })
  }

  const readChanges = async (chapter: ImportSection, facts: Facts, row: DatabaseRow, since: string) => {
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
      await storeAll(chapter, facts, { converted: [], before: row, behind: position })
  }

  const readThere = async (chapter: ImportSection, facts: Facts, row: DatabaseRow) => {
    const found = await facts.source.database(row.name)
    if (!found) throw new DatabaseVanished(`the database ${row.name} no longer exists`)
    const position = isVanished(row) ? { ...row, notes: {} } : row
    const { isWhole, sequence } = position
    const readsAll = isLastPass && chapter.dependsOnOthers === true
    if (!isWhole || sequence === undefined || !facts.source.facts.canFollow || readsAll)
      return readAll(chapter, facts, position, found.sequence)
    await readChanges(chapter, facts, position, sequence)
    if (!triesAgain || (await run.refused(row.name)).length === 0) return
    const reached = (await run.database(row.name)) ?? row
    await readAll(chapter, facts, reached, reached.sequence)
  }

  return {
    async readAccounts(facts: Facts, masterId: string) {
      const findings = Map.groupBy(facts.plan.findings, ({ id }) => id)
      const database = copiesDatabase
      const row = { ...begun(accountsChapter, database), isWhole: true, documents: facts.accounts.size }
      const place = { source: facts.source, database, masterId, triesAgain, position: row }
      for (const ids of inParts([...facts.accounts.keys()], accountsAtOnce)) {
        const all = await Promise.all(ids.map((id) => convertAccount(facts, id, findings.get(id) ?? [])))
        await store(accountsChapter, { ...place, converted: all.flat(), gone: [] })
      }
      for await (const known of run.ids(database)) {
        const gone = known.filter((id) => !facts.accounts.has(id)).map(goneMeanwhile)
        if (gone.length > 0) await batches.addFindings({ ...place, converted: [], gone: [] }, gone)
      }
    },

    /** Notes a database that was deleted during the read. */
    async read(chapter: ImportSection, facts: Facts, name: string) {
      const row = (await run.database(name)) ?? begun(chapter.name, name)
      if (!(await unlessVanished(() => readThere(chapter, facts, row))))
        await batches.note(vanishedRow((await run.database(name)) ?? row))
    },
  }
}
