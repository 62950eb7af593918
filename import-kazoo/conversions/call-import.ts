import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CdrRow } from '../../src/areas/calls/cdrs/columns.ts'
import type { LegImporter } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import { type Author, ChangeSet } from '../../src/storage/change-set.ts'
import { readingAgain } from '../../src/storage/monthly.ts'
import { isConflict, retrying } from '../../src/storage/store.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { type CountedFindings, createFindings } from '../report/report.ts'
import {
  convertCall,
  createJoins,
  isCallRecord,
  isLoose,
  type Joins,
  type Note,
  refusedCall,
  saidLegOf,
} from './call-records.rules.ts'
import type { BookSoFar } from './ledgers.rules.ts'

/** Sums of the legs of a month; cost in units. */
export interface Sums {
  count: number
  duration: number
  billing: number
  cost: number
  /**
   * The last six digits of the begin of each interaction: the sum differs if a leg belongs to another
   * interaction.
   */
  begun: number
}

/** By the month of the leg here: `202502`. */
export type CallSums = Readonly<Record<string, Sums>>

export const noSums: Sums = { count: 0, duration: 0, billing: 0, cost: 0, begun: 0 }

interface Counted {
  id: string
  duration_seconds?: number | null | undefined
  billing_seconds?: number | null | undefined
  cost: number
  interaction_time: number
}

// In seconds; keeps sums of millions of legs exact.
export const begunModulus = 1_000_000

export const monthOfLeg = (id: string) => id.slice(0, 6)

const addTo = (sums: Record<string, Sums>, month: string, more: Sums) => {
  const sum = { ...(sums[month] ?? noSums) }
  for (const key of Object.keys(noSums) as (keyof Sums)[]) sum[key] += more[key]
  sums[month] = sum
}

export const sumsOf = (legs: Iterable<Counted>): CallSums => {
  const sums: Record<string, Sums> = {}
  for (const { id, duration_seconds, billing_seconds, cost, interaction_time } of legs)
    addTo(sums, monthOfLeg(id), {
      count: 1,
      duration: duration_seconds ?? 0,
      billing: billing_seconds ?? 0,
      cost,
      begun: interaction_time % begunModulus,
    })
  return sums
}

export const joinSums = (one: CallSums, other: CallSums): CallSums => {
  const sums = { ...one }
  for (const [month, more] of Object.entries(other)) addTo(sums, month, more)
  return sums
}

export interface MonthPage {
  documents: readonly KazooDocument[]
  mark: string
}

export interface CallCounts {
  imported: number
  /** Legs that were stored before. */
  duplicates: number
  /** Deleted documents, and legs that the settings of `cdr` exclude. */
  skipped: number
  /** Documents that become no legs and are preserved. */
  aside: number
}

/** Results of documents that are not call records, and the book after them. */
export interface Others {
  converted: readonly Converted[]
  book: BookSoFar
}

/** Documents of a month that are stored in one transaction. */
export interface MonthPart {
  /** After the last document of the part; undefined if it has none. */
  mark: string | undefined
  /** The last part of the month. */
  isLast: boolean
  counts: CallCounts
  aside: readonly KazooDocument[]
  others: Others
  /** Sums of the stored legs. */
  called: CallSums
  /** Only of this part. */
  findings: readonly CountedFindings[]
}

interface MonthImport {
  /** Decoded: `account/aa/bb/<28 hex>-202502`. */
  database: string
  /**
   * Documents from the beginning or after a mark. Called again from the beginning if a document names no
   * interaction: only the whole month shows which legs belong together.
   */
  pages(after?: string): AsyncIterable<MonthPage>
  /** Mark of an earlier run. */
  after?: string | undefined
  /** Called once for the other documents of each part, in order, before they are stored. */
  convertOthers(documents: readonly KazooDocument[]): Others
  /**
   * Adds to the transaction of a part, above all the position after it. Parts of a month are stored in
   * order. After a conflict the same part comes again with another set.
   */
  add(set: ChangeSet, part: MonthPart): Promise<void>
  /** Called after the part was stored. */
  stored(part: MonthPart): void
}

interface Deps {
  legAdoption: LegImporter
  author: Author
  /** A set without changes contains only statements of the import itself. */
  commit(set: ChangeSet): Promise<void>
  /** Documents per transaction. More save writes of index pages and take more memory. */
  documentsAtOnce?: number | undefined
}

const usualAtOnce = 350

type JudgeLeg = Awaited<ReturnType<LegImporter['judging']>>

type Batch = Pick<MonthPart, 'mark' | 'isLast'> & Pick<MonthPage, 'documents'>

/** The last batch may be empty. */
async function* batchesOf(pages: AsyncIterable<MonthPage>, size: number): AsyncGenerator<Batch> {
  let documents: KazooDocument[] = []
  let mark: string | undefined
  for await (const page of pages) {
    if (documents.length >= size) {
      yield { documents, mark, isLast: false }
      documents = []
    }
    for (const document of page.documents) documents.push(document)
    mark = page.mark
  }
  yield { documents, mark, isLast: true }
}

const isLooseCall = (document: KazooDocument) => isCallRecord(document) && isLoose(document)

/** Learns which legs of the month belong together: legs that name an interaction come last. */
export const learnJoins = async (pages: MonthImport['pages']): Promise<Joins> => {
  const joins = createJoins()
  let isMixed = false
  for await (const { documents } of pages())
    for (const document of documents.filter(isCallRecord)) {
      const leg = isLoose(document) ? saidLegOf(document) : undefined
      isMixed ||= !isLoose(document)
      if (leg) joins.learn(leg)
    }
  if (!isMixed) return joins
  for await (const { documents } of pages())
    for (const document of documents.filter((one) => isCallRecord(one) && !isLoose(one))) {
      const leg = saidLegOf(document)
      if (leg?.interaction) joins.attach(leg, leg.interaction)
    }
  return joins
}

const ignoredNote: Note = { severity: 'left_out', code: 'call_record_ignored' }

const convertBatch = (
  { documents, mark, isLast }: Batch,
  month: MonthImport,
  { accountId, joins, judge }: { accountId: string; joins: Joins | undefined; judge: JudgeLeg },
) => {
  const rows: CdrRow[] = []
  const aside: KazooDocument[] = []
  const { add, counted } = createFindings()
  const { database } = month
  let skipped = 0
  for (const document of documents.filter(isCallRecord)) {
    const converted = convertCall(document, { accountId, joins })
    const judged = converted.outcome === 'leg' ? judge(converted.leg) : converted.outcome
    const isRejected = typeof judged === 'object' && 'rejected' in judged
    const notes = [
      ...converted.notes,
      ...(judged === 'ignored' ? [ignoredNote] : []),
      ...(isRejected ? [refusedCall(judged.rejected)] : []),
    ]
    for (const note of notes) add({ ...note, database, id: document.id })
    if (judged === 'ignored' || judged === 'gone') skipped += 1
    else if (judged === 'aside' || isRejected) aside.push(document)
    else rows.push(judged.row)
  }
  const others = month.convertOthers(documents.filter((document) => !isCallRecord(document)))
  const counts = { imported: rows.length, duplicates: 0, skipped, aside: aside.length }
  // Legs that are stored already are not known yet.
  const part: MonthPart = { mark, isLast, counts, aside, others, called: sumsOf(rows), findings: counted() }
  return { month, size: documents.length, rows, part }
}

type ConvertedBatch = ReturnType<typeof convertBatch>

/**
 * Imports the call records of one account. Months with few calls share a transaction, because their
 * statistics share pages.
 */
export const createCallImport = (
  { legAdoption, author, commit, documentsAtOnce = usualAtOnce }: Deps,
  accountId: string,
) => {
  let waiting: ConvertedBatch[] = []
  let last: Promise<void> = Promise.resolve()
  // After one duplicate the next legs are most likely duplicates of an earlier run, too.
  let isRepeat = false

  const attempt = async (batches: readonly ConvertedBatch[], looksFirst: boolean) => {
    const { set, parts } = await readingAgain(async () => {
      const set = new ChangeSet(author)
      const rows = batches.flatMap((batch) => batch.rows)
      const verdicts = await legAdoption.add(set, rows, { looksFirst })
      const parts: { month: MonthImport; part: MonthPart }[] = []
      let from = 0
      for (const { month, rows, part } of batches) {
        const own = verdicts.slice(from, from + rows.length)
        from += rows.length
        const imported = own.filter((verdict) => verdict === 'accepted').length
        const counts = { ...part.counts, imported, duplicates: rows.length - imported }
        await month.add(set, { ...part, counts })
        parts.push({ month, part: { ...part, counts } })
      }
      return { set, parts }
    })
    if (set.statements.length > 0) await commit(set)
    for (const { month, part } of parts) month.stored(part)
    isRepeat = parts.some(({ part }) => part.counts.duplicates > 0)
  }

  /** After a conflict each batch is stored alone. */
  const store = async (batches: readonly ConvertedBatch[]) => {
    try {
      await attempt(batches, isRepeat)
    } catch (error) {
      if (!isConflict(error)) throw error
      for (const one of batches) await retrying(() => attempt([one], true))
    }
  }

  const flush = async () => {
    await last
    const batches = waiting
    waiting = []
    if (batches.length === 0) return
    // The next batch is converted while this one is written; the next `await last` throws its error.
    last = store(batches)
    last.catch(() => undefined)
  }

  return {
    async month(month: MonthImport): Promise<void> {
      const judge = await legAdoption.judging()
      let joins: Joins | undefined
      for await (const batch of batchesOf(month.pages(month.after), documentsAtOnce)) {
        if (batch.documents.some(isLooseCall)) joins ??= await learnJoins(month.pages)
        const converted = convertBatch(batch, month, { accountId, joins, judge })
        const size = waiting.reduce((sum, one) => sum + one.size, converted.size)
        // Parts of one month are never stored in one transaction.
        if (size > documentsAtOnce) await flush()
        waiting.push(converted)
        if (!batch.isLast) await flush()
        // A dump is read without waiting, so writes to the disk would never run.
        await nextTurn()
      }
    },

    async settle() {
      await flush()
      await last
    },
  }
}

export type CallImport = ReturnType<typeof createCallImport>
