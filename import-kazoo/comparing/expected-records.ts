import type { ImportedRecord, Importer } from '../../src/areas/adoption.ts'
import type { Validate } from '../../src/areas/area.ts'
import type { Difference } from '../../src/lib/differences.ts'
import { present } from '../../src/lib/json.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { quarantineInvalidFields } from '../import-run/batches.ts'
import { convertedOf } from '../import-run/reading.ts'
import { createRunStore, type RunStore } from '../import-run/store.ts'
import type { Facts, ImportSection } from '../import-sections/section.ts'
import type { createTally, ReportedDifference } from './differences.ts'

export interface ExpectedRecord {
  draft: Draft
  document: KazooDocument
}

export interface ComparisonRun extends Omit<ReturnType<typeof createTally>, 'tally'> {
  facts: Facts
  /** When the import began, in Gregorian seconds; undefined without an import. */
  begun: number | undefined
}

interface Deps {
  store: Store
  adoptions: Readonly<Record<string, Importer>>
  validate: Validate
  chapters: readonly ImportSection[]
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

export const differencesAt = (
  place: Pick<ReportedDifference, 'account_id' | 'question' | 'id'>,
  differences: readonly Difference[],
): ReportedDifference[] =>
  differences.map(({ path, from, to }) => ({ ...place, what: path, there: from, here: to }))

const expectedRecordsOf = (converted: readonly Converted[]): ExpectedRecord[] =>
  converted.flatMap(({ document, drafts }) => drafts.map((draft) => ({ draft, document })))

export const createExpectedRecords = ({ store, adoptions, validate, chapters }: Deps) => {
  const run = createRunStore(store)
  const quarantine = quarantineInvalidFields({ adoptions, validate })
  const chapterNamed = (name: string) => chapters.find((chapter) => chapter.name === name)

  /** The reason for a difference: a later change or a finding of the import. */
  const whyOf = async ({ document, draft }: ExpectedRecord, modified: number | undefined) => {
    const changed = modified === undefined ? undefined : changedSince(draft.modified, modified)
    if (changed !== undefined) return changed
    const { since, findings } = await reportOf(run, document)
    return since ?? (codesOf(findings) || undefined)
  }

  return {
    async arrivalOf({ draft, document }: ExpectedRecord): Promise<ImportedRecord> {
      const { accountId, id, created, modified } = draft
      const { doc } = await quarantine(draft, document)
      // Secrets and files are not compared.
      return { accountId, id, created, modified, revision: '', doc, facts: {}, files: [] }
    },

    /** `modified`: of the stored record, if there is one. */
    async withReason(
      drawing: ExpectedRecord,
      modified: number | undefined,
      told: readonly ReportedDifference[],
    ): Promise<ReportedDifference[]> {
      const why = told.length === 0 ? undefined : await whyOf(drawing, modified)
      return told.map((one) => ({ ...one, ...present({ why }) }))
    },

    /** The records that documents of a database become, page by page. */
    async *pages(chapterName: string, facts: Facts, database: string): AsyncGenerator<ExpectedRecord[]> {
      const chapter = chapterNamed(chapterName)
      if (!chapter || !facts.kinds.has(database)) return
      for await (const converted of convertedOf(chapter, facts, database)) yield expectedRecordsOf(converted)
    },

    async ofDocument(chapterName: string, facts: Facts, document: KazooDocument): Promise<ExpectedRecord[]> {
      const { database } = document
      return expectedRecordsOf(
        (await chapterNamed(chapterName)?.convert([document], { database, facts })) ?? [],
      )
    },
  }
}

export type ExpectedRecords = ReturnType<typeof createExpectedRecords>
