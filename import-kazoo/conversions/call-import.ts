import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CdrRow } from '../../src/areas/calls/cdrs/columns.ts'
import type { LegImporter } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import { type Author, ChangeSet } from '../../src/storage/change-set.ts'
import { readingAgain } from '../../src/storage/monthly.ts'
import { isConflict, retrying } from '../../src/storage/store.ts'
import type { KazooDocument } from '../documents/document.ts'
import { type CountedFindings, findingsOf } from '../report/report.ts'
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

const monthDigits = 6
// In seconds; keeps sums of millions of legs exact.
export const begunModulus = 1_000_000

export const monthOfLeg = (id: string) => id.slice(0, monthDigits)

const plus = (one: Sums, other: Sums): Sums => ({
  count: one.count + other.count,
  duration: one.duration + other.duration,
  billing: one.billing + other.billing,
  cost: one.cost + other.cost,
  begun: one.begun + other.begun,
})

export const sumsOf = (legs: Iterable<Counted>): CallSums => {
  const sums: Record<string, Sums> = {}
  for (const { id, duration_seconds, billing_seconds, cost, interaction_time } of legs) {
    const month = monthOfLeg(id)
    const sum = sums[month] ?? { ...noSums }
    sum.count += 1
    sum.duration += duration_seconds ?? 0
    sum.billing += billing_seconds ?? 0
    sum.cost += cost
    sum.begun += interaction_time % begunModulus
    sums[month] = sum
  }
  return sums
}

export const joinSums = (one: CallSums, other: CallSums): CallSums => {
  const sums = { ...one }
  for (const [month, more] of Object.entries(other)) sums[month] = plus(sums[month] ?? noSums, more)
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

/**
 * Documents of a month that are stored in one transaction. `Others`: the result for documents that are no
 * call records.
 */
export interface MonthPart<Others> {
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

interface MonthImport<Others> {
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
  add(set: ChangeSet, part: MonthPart<Others>): Promise<void>
  /** Called after the part was stored. */
  stored(part: MonthPart<Others>): void
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

interface Batch {
  documents: readonly KazooDocument[]
  mark: string | undefined
  isLast: boolean
}

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

/** Learns which legs of the month belong together. */
export const learnJoins = async (pages: MonthImport<unknown>['pages']): Promise<Joins> => {
  const joins = createJoins()
  let isMixed = false
  for await (const { documents } of pages()) {
    for (const document of documents.filter(isCallRecord)) {
      const isOneOfThem = isLoose(document)
      isMixed ||= !isOneOfThem
      const leg = isOneOfThem ? saidLegOf(document) : undefined
      if (leg) joins.learn(leg)
    }
  }
  if (!isMixed) return joins
  for await (const { documents } of pages()) {
    for (const document of documents.filter(isCallRecord)) {
      const leg = isLoose(document) ? undefined : saidLegOf(document)
      if (leg?.interaction) joins.attach(leg, leg.interaction)
    }
  }
  return joins
}

interface ConvertedBatch<Others> {
  size: number
  rows: readonly CdrRow[]
  isLast: boolean
  partWith(verdicts: readonly string[]): MonthPart<Others>
}

const ignoredNote: Note = { severity: 'left_out', code: 'call_record_ignored' }

interface Conversion<Others> extends Pick<MonthImport<Others>, 'database' | 'convertOthers'> {
  accountId: string
  joins: Joins | undefined
  judge: Awaited<ReturnType<LegImporter['judging']>>
}

const convertBatch = <Others>(
  { documents, mark, isLast }: Batch,
  { database, convertOthers, accountId, joins, judge }: Conversion<Others>,
): ConvertedBatch<Others> => {
  const rows: CdrRow[] = []
  const aside: KazooDocument[] = []
  const found = findingsOf(database)
  let skipped = 0
  for (const document of documents) {
    if (!isCallRecord(document)) continue
    const converted = convertCall(document, { accountId, joins })
    for (const note of converted.notes) found.add(document.id, note)
    if (converted.outcome !== 'leg') {
      if (converted.outcome === 'aside') aside.push(document)
      else skipped += 1
      continue
    }
    const judged = judge(converted.leg)
    if (judged === 'ignored') {
      skipped += 1
      found.add(document.id, ignoredNote)
    } else if ('rejected' in judged) {
      aside.push(document)
      found.add(document.id, refusedCall(judged.rejected))
    } else rows.push(judged.row)
  }
  const others = convertOthers(documents.filter((document) => !isCallRecord(document)))
  const findings = found.counted()
  return {
    size: documents.length,
    rows,
    isLast,
    partWith(verdicts) {
      const added = verdicts.filter((verdict) => verdict === 'accepted').length
      const counts = { imported: added, duplicates: verdicts.length - added, skipped, aside: aside.length }
      return { mark, isLast, counts, aside, others, called: sumsOf(rows), findings }
    },
  }
}

/** A batch that is stored together with batches of other months. */
interface Waiting<Others> {
  month: MonthImport<Others>
  batch: ConvertedBatch<Others>
}

/**
 * Imports the call records of one account. Months with few calls share a transaction, because their
 * statistics share pages.
 */
export const createCallImport = <Others>(
  { legAdoption, author, commit, documentsAtOnce = usualAtOnce }: Deps,
  accountId: string,
) => {
  let waiting: Waiting<Others>[] = []
  let last: Promise<void> = Promise.resolve()
  // After one duplicate the next legs are most likely duplicates of an earlier run, too.
  let isRepeat = false

  const gathered = (together: readonly Waiting<Others>[], looksFirst: boolean) =>
    readingAgain(async () => {
      const set = new ChangeSet(author)
      const rows = together.flatMap(({ batch }) => batch.rows)
      const verdicts = await legAdoption.add(set, rows, { looksFirst })
      const parts: { month: MonthImport<Others>; part: MonthPart<Others> }[] = []
      let from = 0
      for (const { month, batch } of together) {
        const part = batch.partWith(verdicts.slice(from, from + batch.rows.length))
        from += batch.rows.length
        await month.add(set, part)
        parts.push({ month, part })
      }
      return { set, parts }
    })

  const attempt = async (together: readonly Waiting<Others>[], looksFirst: boolean) => {
    const { set, parts } = await gathered(together, looksFirst)
    if (set.statements.length > 0) await commit(set)
    for (const { month, part } of parts) month.stored(part)
    isRepeat = parts.some(({ part }) => part.counts.duplicates > 0)
  }

  /** After a conflict each batch is stored alone. */
  const store = async (together: readonly Waiting<Others>[]) => {
    try {
      await attempt(together, isRepeat)
    } catch (error) {
      if (!isConflict(error)) throw error
      for (const one of together) await retrying(() => attempt([one], true))
    }
  }

  const sizeOf = (together: readonly Waiting<Others>[]) =>
    together.reduce((sum, { batch }) => sum + batch.size, 0)

  const flush = async () => {
    await last
    const together = waiting
    waiting = []
    if (together.length === 0) return
    // The next batch is converted while this one is written; the next `await last` throws its error.
    last = store(together)
    last.catch(() => undefined)
  }

  return {
    async month(month: MonthImport<Others>): Promise<void> {
      const judge = await legAdoption.judging()
      const { database, pages, after, convertOthers } = month
      let joins: Joins | undefined
      for await (const batch of batchesOf(pages(after), documentsAtOnce)) {
        if (batch.documents.some(isLooseCall)) joins ??= await learnJoins(pages)
        const converted = convertBatch(batch, { database, convertOthers, accountId, joins, judge })
        // Parts of one month are never stored in one transaction.
        if (sizeOf(waiting) + converted.size > documentsAtOnce) await flush()
        waiting.push({ month, batch: converted })
        if (!batch.isLast) await flush()
        // A dump is read without waiting, so writes to the disk would never run.
        await nextTurn()
      }
    },

    /** Stores the rest; `stored` ends after it. */
    async handOver(): Promise<{ stored: Promise<void> }> {
      await flush()
      return { stored: last }
    },

    async settle() {
      await flush()
      await last
    },
  }
}

export type CallImport<Others> = ReturnType<typeof createCallImport<Others>>
