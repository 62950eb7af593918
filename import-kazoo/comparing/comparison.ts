// Shared by `--finish` and `compare`: both compare the converted documents with the stored records.
import type { ImportedRecord, Importer } from '../../src/areas/adoption.ts'
import type { Validate } from '../../src/areas/area.ts'
import type { LegImporter } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { inParts } from '../../src/lib/list.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { quarantineInvalidFields } from '../import-run/batches.ts'
import { convertedPages } from '../import-run/reading.ts'
import { createRunStore, isVanished, type RunStore } from '../import-run/store.ts'
import type { Facts, ImportSection } from '../import-sections/section.ts'
import { unlessVanished } from '../source/source.ts'
import { type ComparedPlace, type createTally, type FoundDifference, foundIn } from './differences.ts'
import { createStoredValues } from './store.ts'

/** Returns the API's response to a GET of the operator; undefined if there is no such record. */
export type Respond = (path: string) => Promise<{ data: Json; metadata: Json } | undefined>

export interface CheckDeps {
  store: Store
  adoptions: Readonly<Record<string, Importer>>
  validate: Validate
  chapters: readonly ImportSection[]
  numbers: Pick<Numbers['store'], 'findSeveral'>
  legAdoption: LegImporter
}

interface Look extends Pick<ReturnType<typeof createTally>, 'add' | 'sum'> {
  facts: Facts
  respond: Respond
  /** When the import began, in Gregorian seconds; undefined without an import. */
  begun: number | undefined
  /** The compared accounts. */
  accountIds: readonly string[]
}

export const createComparison = ({ store, validate, ...deps }: CheckDeps, look: Look) => ({
  ...deps,
  ...look,
  records: store.records,
  run: createRunStore(store),
  stored: createStoredValues(store),
  quarantine: quarantineInvalidFields({ adoptions: deps.adoptions, validate }),
})

export type Comparison = ReturnType<typeof createComparison>

/** Rows of one look-up. */
export const rowsAtOnce = 500

/** Compares values of one record. */
export const compareValues = ({ add }: Comparison, place: ComparedPlace, there: Json, here: Json) =>
  add(place, 1, foundIn(differencesBetween(there, here)))

/** Compares counts by name; `label` makes a sentence of a name. */
export const compareCounts = (
  { add }: Comparison,
  question: string,
  label: (name: string) => string,
  there: ReadonlyMap<string, number>,
  here: ReadonlyMap<string, number>,
) => {
  for (const name of new Set([...there.keys(), ...here.keys()])) {
    const [expected, found] = [there.get(name) ?? 0, here.get(name) ?? 0]
    const difference = { what: label(name), there: expected, here: found }
    add({ question }, 1, expected === found ? [] : [difference])
  }
}

export const codesOf = (findings: readonly { code: string }[]) =>
  [...new Set(findings.map(({ code }) => code))].join(', ')

/** What the import reported about a document. */
export const reportOf = async (
  run: Pick<RunStore, 'findingsOf' | 'known'>,
  { database, id }: Pick<KazooDocument, 'database' | 'id'>,
) => ({
  since: (await run.known(database, [id])).has(id) ? undefined : 'it came after the import',
  findings: await run.findingsOf(database, id),
})

/** Which side changed later, by the modification times. */
export const changedSince = (there: number, here: number) => {
  if (here > there) return 'changed here since'
  return here < there ? 'changed there since' : undefined
}

/** A record that a document becomes. */
export interface ExpectedRecord {
  draft: Draft
  document: KazooDocument
}

export const expectedRecordsOf = (converted: readonly Converted[]): ExpectedRecord[] =>
  converted.flatMap(({ document, drafts }) => drafts.map((draft) => ({ draft, document })))

/** Secrets and files are not compared. */
export const arrivalOf = async (
  { quarantine }: Comparison,
  { draft, document }: ExpectedRecord,
): Promise<ImportedRecord> => {
  const { accountId, id, created, modified } = draft
  const { doc } = await quarantine(draft, document)
  return { accountId, id, created, modified, revision: '', doc, facts: {}, files: [] }
}

/** Adds the reason, which is a later change or a finding. `modified`: of the stored record, if there is one. */
export const withReason = async (
  { run }: Comparison,
  { document, draft }: ExpectedRecord,
  modified: number | undefined,
  differences: readonly FoundDifference[],
): Promise<readonly FoundDifference[]> => {
  if (differences.length === 0) return differences
  const { since, findings } = await reportOf(run, document)
  const changed = modified === undefined ? undefined : changedSince(draft.modified, modified)
  const why = changed ?? since ?? (codesOf(findings) || undefined)
  return differences.map((one) => ({ ...one, ...present({ why }) }))
}

export const chapterNamed = ({ chapters }: Comparison, name: string) =>
  chapters.find((chapter) => chapter.name === name)

/** The records that documents of a database become, page by page. */
export async function* expectedRecords(
  comparison: Comparison,
  name: string,
  database: string,
): AsyncGenerator<ExpectedRecord[]> {
  const chapter = chapterNamed(comparison, name)
  const { facts } = comparison
  if (!chapter || !facts.kinds.has(database)) return
  for await (const { converted } of convertedPages(chapter, facts, database))
    yield expectedRecordsOf(converted)
}

/** Converts the documents of a section again, unless a database vanished; returns whether all are there. */
export const convertAgain = async (
  { run, facts }: Comparison,
  chapter: ImportSection,
  check: (converted: readonly Converted[], database: string) => Promise<void>,
  done: (database: string) => Promise<void> = async () => undefined,
): Promise<boolean> => {
  let areAllThere = true
  for (const database of chapter.databases(facts)) {
    const row = await run.database(database)
    const checkAll = async () => {
      for await (const { converted } of convertedPages(chapter, facts, database))
        for (const some of inParts(converted, rowsAtOnce)) await check(some, database)
      await done(database)
    }
    const isThere = !(row && isVanished(row)) && (await unlessVanished(checkAll))
    areAllThere &&= isThere
  }
  return areAllThere
}

/** The stored result of each document. */
export const withRows = async ({ run }: Comparison, database: string, converted: readonly Converted[]) => {
  const ids = converted.map(({ document }) => document.id)
  const known = await run.known(database, ids)
  return converted.map((one) => ({ one, row: known.get(one.document.id) }))
}
