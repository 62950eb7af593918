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

/** Legs of a month, their seconds, what they cost, in units, and when their interactions began. */
export interface Sums {
  count: number
  duration: number
  billing: number
  cost: number
  /** Of when their interactions began, the last six digits: another sum where a leg belongs to another one. */
  begun: number
}

/** Of legs, by the month in which they lie here: `202502`. */
export type CallSums = Readonly<Record<string, Sums>>

export const noSums: Sums = { count: 0, duration: 0, billing: 0, cost: 0, begun: 0 }

/** Of a leg what counts. Its id begins with its month. */
interface Counted {
  id: string
  duration_seconds?: number | null | undefined
  billing_seconds?: number | null | undefined
  cost: number
  interaction_time: number
}

const monthDigits = 6
// Seconds. Sums of a month's millions of legs stay exact.
export const begunModulus = 1_000_000

/** `202502` */
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

/** Some documents of a database, and from where reading goes on behind them. */
export interface MonthPage {
  documents: readonly KazooDocument[]
  mark: string
}

/** What became of documents. */
export interface CallCounts {
  imported: number
  /** Legs that were there: of an earlier run, or told of twice. */
  duplicates: number
  /** Deleted documents, and legs that the settings of cdr keep out. */
  skipped: number
  /** No legs: the documents are to be kept as they are. */
  aside: number
}

/** Documents of a month that go in with one transaction. `Others`: what became of those that are no call records. */
export interface MonthPart<Others> {
  /** Behind the last document of the part; undefined when it has none. */
  mark: string | undefined
  /** Nothing of the month comes behind it. */
  isLast: boolean
  counts: CallCounts
  aside: readonly KazooDocument[]
  others: Others
  /** Of the legs that are there behind it. */
  called: CallSums
  /** Of this part alone: `joinFindings` puts them together. */
  findings: readonly CountedFindings[]
}

interface MonthImport<Others> {
  /** Decoded: `account/aa/bb/<28 hex>-202502`. */
  database: string
  /**
   * The documents of the database from the beginning, or from behind a mark. It is asked again, from the beginning, when a document names no interaction: with which legs it belongs
   * together, only the whole month tells.
   */
  pages(after?: string): AsyncIterable<MonthPage>
  /** Where an earlier run has got to. */
  after?: string | undefined
  /** Hears of the documents that are no call records, each once and in order, before they are stored. */
  convertOthers(documents: readonly KazooDocument[]): Others
  /**
   * Adds to a set what goes in beside the legs of a part: where reading goes on behind it, above all. The parts of a
   * month are stored one behind the other. When the commit fails as a conflict, because something of it is there
   * already, the same part comes again with another set.
   */
  add(set: ChangeSet, part: MonthPart<Others>): Promise<void>
  /** Hears that the part which was added last is stored. */
  stored(part: MonthPart<Others>): void
}

interface Deps {
  legAdoption: LegImporter
  author: Author
  /** Writes what a set holds. One without a change has nothing but books. */
  commit(set: ChangeSet): Promise<void>
  /** So many documents go in with one transaction. More write the pages of indices less often, and take more memory. */
  documentsAtOnce?: number | undefined
}

const usualAtOnce = 350

/** Documents of a month that are converted together. */
interface Batch {
  documents: readonly KazooDocument[]
  mark: string | undefined
  isLast: boolean
}

/** Pages until they have so many documents; what is left at the end, which may be none, is the last batch. */
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

/** Learns which legs of the month belong together: first of those that do not say it, then of those that do. */
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

/** A batch as the rows of its legs. The documents of legs are let go. */
interface ConvertedBatch<Others> {
  size: number
  rows: readonly CdrRow[]
  isLast: boolean
  /** What became of the batch, after the rows were added with these verdicts. */
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

/** A batch of a month that waits for others of its account, to be stored with them. */
interface Waiting<Others> {
  month: MonthImport<Others>
  batch: ConvertedBatch<Others>
}

/**
 * Brings the call records of one account here. Months of few calls go in with one transaction: their statistics lie on
 * the same pages, which each transaction writes anew.
 */
export const createCallImport = <Others>(
  { legAdoption, author, commit, documentsAtOnce = usualAtOnce }: Deps,
  accountId: string,
) => {
  let waiting: Waiting<Others>[] = []
  let last: Promise<void> = Promise.resolve()
  // Where one leg was there before, the next ones most likely are as well: of an earlier run.
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

  /** What does not go in together goes in one by one: a month may be in the way of the next one. */
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

  /** Has what waits stored, as soon as what came before is. */
  const flush = async () => {
    await last
    const together = waiting
    waiting = []
    if (together.length === 0) return
    // While it is written the next ones are put together; its failure is met when it is waited for.
    last = store(together)
    last.catch(() => undefined)
  }

  return {
    /** Reads a month to its end. What was read last may be stored only with what comes next. */
    async month(month: MonthImport<Others>): Promise<void> {
      const judge = await legAdoption.judging()
      const { database, pages, after, convertOthers } = month
      let joins: Joins | undefined
      for await (const batch of batchesOf(pages(after), documentsAtOnce)) {
        if (batch.documents.some(isLooseCall)) joins ??= await learnJoins(pages)
        const converted = convertBatch(batch, { database, convertOthers, accountId, joins, judge })
        // Neither is more in one transaction than in a large month, nor are two parts of one.
        if (sizeOf(waiting) + converted.size > documentsAtOnce) await flush()
        waiting.push({ month, batch: converted })
        if (!batch.isLast) await flush()
        // A dump comes without a wait: what goes to the disk would never get its turn.
        await nextTurn()
      }
    },

    /** Has the rest of what was read stored; answers with the end of that, which whoever reads on waits for later. */
    async handOver(): Promise<{ stored: Promise<void> }> {
      await flush()
      return { stored: last }
    },

    /** Whatever was read is stored then. */
    async settle() {
      await flush()
      await last
    },
  }
}

export type CallImport<Others> = ReturnType<typeof createCallImport<Others>>
