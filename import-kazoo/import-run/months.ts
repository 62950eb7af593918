import { rolloverId } from '../../src/areas/billing/ledgers/rules.ts'
import type { ChangeSet } from '../../src/storage/change-set.ts'
import {
  type CallImport,
  type CallSums,
  joinSums,
  type MonthPage,
  type MonthPart,
} from '../conversions/call-import.ts'
import { converted } from '../conversions/findings.ts'
import {
  type BookSoFar,
  closeBook,
  convertMoney,
  emptyBook,
  isMoney,
  type MonthOfAccount,
} from '../conversions/ledgers.rules.ts'
import { keepDocument, keepOrList } from '../conversions/preserved.rules.ts'
import { convertAudit, createDays, createUses } from '../conversions/service-usage.rules.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { isGone, readDocument } from '../documents/fields.ts'
import type { Facts } from '../import-sections/section.ts'
import { type CountedFindings, countFindings, joinFindings } from '../report/report.ts'
import { type DatabaseFacts, unlessVanished } from '../source/source.ts'
import type { Batches } from './batches.ts'
import { type BatchTold, begun } from './reading.ts'
import { type DatabaseRow, type RunStore, vanishedRow } from './store.ts'

// Databases of months may have millions of documents, so the result of each is not stored: importing one
// again changes nothing.

interface Deps {
  run: RunStore
  batches: Batches
  callImportOf(accountId: string): CallImport<Others>
  onBatch(told: BatchTold): void
}

interface MonthNotes {
  book: BookSoFar
  /** Units at the begin and the end; undefined until the month is read. */
  before?: number | undefined
  units?: number | undefined
  /** Counts and findings are outdated. */
  isChanged?: boolean
  /** `units` is outdated. */
  isMoneyMoved?: boolean
  /** By type and outcome: `cdr imported`. */
  counts: Readonly<Record<string, number>>
  /** Sums of imported legs. */
  called?: CallSums
  findings: readonly CountedFindings[]
}

export interface MonthPlace {
  database: string
  accountId: string
  month: string
}

interface MonthSurroundings {
  /** Units at the end of the month before; undefined if unknown. */
  before: number | undefined
  /** Number of later months of the account. */
  behind: number
  /** The last look at the source: counts must be exact. */
  isLastRound: boolean
}

/** Yields the months of one account at a time, the oldest first. */
export function* monthsIn({ kinds, accounts, sinceMonth = 0 }: Facts): Generator<MonthPlace[]> {
  const databases = new Map<string, string[]>()
  for (const [database, kind] of kinds) {
    if (kind.kind !== 'month' || Number(kind.month) < sinceMonth || !accounts.has(kind.accountId)) continue
    const ofAccount = databases.get(kind.accountId)
    if (ofAccount) ofAccount.push(database)
    else databases.set(kind.accountId, [database])
  }
  for (const ofAccount of databases.values())
    yield ofAccount
      .flatMap((database): MonthPlace[] => {
        const kind = kinds.get(database)
        return kind?.kind === 'month' ? [{ database, accountId: kind.accountId, month: kind.month }] : []
      })
      .sort((a, b) => (a.month < b.month ? -1 : 1))
}

const chapter = 'months'

// A cycle is at most a month long, so it began in this month or the one before.
const monthsOfUses = 2
const noNotes: MonthNotes = { book: emptyBook, counts: {}, findings: [] }

export const monthNotesIn = ({ notes }: Pick<DatabaseRow, 'notes'>) =>
  ({ ...noNotes, ...notes }) as unknown as MonthNotes

const added = (counts: MonthNotes['counts'], more: MonthNotes['counts']) => {
  const sums: Record<string, number> = { ...counts }
  for (const [key, count] of Object.entries(more)) if (count > 0) sums[key] = (sums[key] ?? 0) + count
  return sums
}

/** A record without a document of its own. */
const drawnUp =
  (database: string) =>
  (draft: Draft): Converted => ({
    document: { database, id: draft.id, rev: undefined, text: '', fields: {}, conflicts: [], type: '' },
    outcome: 'imported',
    drafts: [draft],
    findings: [],
  })

/** Results of documents that are no call records, and the book after them. */
interface Others {
  converted: readonly Converted[]
  book: BookSoFar
}

const countsOf = (converted: readonly Converted[]) => {
  const counts: Record<string, number> = {}
  for (const { document, outcome } of converted) {
    const key = `${document.type} ${outcome}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const sizeOf = ({ counts, others }: Pick<MonthPart<Others>, 'counts' | 'others'>) =>
  counts.imported + counts.duplicates + counts.skipped + counts.aside + others.converted.length

const notedBehind = (
  { book: _, counts, called = {}, findings, ...others }: MonthNotes,
  part: Pick<MonthPart<Others>, 'counts' | 'called' | 'findings' | 'others'>,
): MonthNotes => {
  const { converted, book } = part.others
  const { imported, duplicates, skipped, aside } = part.counts
  const ofCalls = { 'cdr imported': imported + duplicates, 'cdr skipped': skipped, 'cdr kept': aside }
  const found = countFindings(converted.flatMap((one) => one.findings))
  return {
    ...others,
    book,
    counts: added(added(counts, countsOf(converted)), ofCalls),
    called: joinSums(called, part.called),
    findings: joinFindings(joinFindings(findings, found), part.findings),
  }
}

/** Whether the begin, the end or the counts of the month changed. */
const isToReadAgain = (
  { before, isChanged, isMoneyMoved }: MonthNotes,
  surroundings: MonthSurroundings,
): boolean =>
  before !== surroundings.before ||
  (isMoneyMoved === true && surroundings.behind > 0) ||
  (isChanged === true && surroundings.isLastRound)

const hasRollover = async ({ source }: Facts, { month, database }: MonthPlace) => {
  const rollover = await source.document(database, rolloverId(Number(month)))
  return rollover !== undefined && !isGone(readDocument(database, rollover).fields)
}

export const monthOf = async (
  facts: Facts,
  place: MonthPlace,
  before: number | undefined,
): Promise<MonthOfAccount> => {
  const { accountId, month } = place
  return {
    accountId,
    accountName: facts.accounts.get(accountId)?.name ?? accountId,
    month: Number(month),
    hasRollover: await hasRollover(facts, place),
    before,
    carriesOver: facts.carriesOver,
  }
}

export const createMonthReading = ({ run, batches, callImportOf, onBatch }: Deps) => {
  const convertOther = (document: KazooDocument, { accountId, accountName }: MonthOfAccount): Converted => {
    if (document.type === 'audit_log') return convertAudit(document, { id: accountId, name: accountName })
    // Summed up at the end of the month.
    if (document.type === 'allotment_consumption') return converted(document, 'skipped')
    return keepOrList(document, accountId)
  }

  const convertOthers = (
    documents: readonly KazooDocument[],
    month: MonthOfAccount,
    before: BookSoFar,
  ): Others => {
    let book = before
    const all = documents.map((document) => {
      if (!isMoney(document)) return convertOther(document, month)
      const money = convertMoney(document, month, book)
      ;({ book } = money)
      return money
    })
    return { converted: all, book }
  }

  interface Reading {
    facts: Facts
    place: MonthPlace
    surroundings: MonthSurroundings
    month: MonthOfAccount
    position: DatabaseRow
    calls: CallImport<Others>
  }

  interface Storing {
    pages(after?: string): AsyncIterable<MonthPage>
    /** Returns the position to store with a part; undefined: none. */
    moves(set: ChangeSet, position: DatabaseRow, part: MonthPart<Others>): Promise<DatabaseRow | undefined>
  }

  /**
   * Returns the book after the pages, and the stored position: the last part may still wait for the next
   * month.
   */
  const readPages = async (
    { facts, place: { database, accountId }, month, position, calls }: Reading,
    { pages, moves }: Storing,
  ) => {
    let stored = position
    let next = position
    let { book } = monthNotesIn(position)
    await calls.month({
      database,
      after: position.mark,
      async *pages(after) {
        for await (const { documents, mark } of pages(after))
          yield {
            documents: facts.withoutCalls ? documents.filter(({ type }) => type !== 'cdr') : documents,
            mark,
          }
      },
      convertOthers(documents) {
        const others = convertOthers(documents, month, book)
        ;({ book } = others)
        return others
      },
      async add(set, part) {
        const { converted } = part.others
        const kept = part.aside.map((document) => keepDocument(document, accountId))
        await batches.putMany(set, facts.source, [...converted, ...kept])
        const notes = notedBehind(monthNotesIn(stored), part)
        const documents = stored.documents + sizeOf(part)
        const moved = await moves(set, { ...stored, documents, notes: { ...notes } }, part)
        next = moved ?? stored
        if (moved) set.add(run.putDatabase(moved))
      },
      stored(part) {
        stored = next
        const changed = part.counts.imported + part.others.converted.length
        onBatch({ chapter, database, documents: sizeOf(part), changed, removed: 0 })
      },
    })
    return { book, stored: () => stored }
  }

  async function* wholePages({ source }: Facts, database: string, after?: string): AsyncGenerator<MonthPage> {
    for await (const { documents, mark } of source.pages(database, after))
      yield { documents: documents.map((document) => readDocument(database, document)), mark }
  }

  /**
   * Daily service changes of months whose year has no database, and use of included minutes of the last
   * cycles.
   */
  const addedUp = async (
    {
      facts,
      place: { database, accountId, month },
      surroundings,
    }: Pick<Reading, 'facts' | 'place' | 'surroundings'>,
    { counts }: MonthNotes,
  ) => {
    const has = (type: string) => Object.keys(counts).some((key) => key.startsWith(`${type} `))
    const year = `${database.slice(0, -month.length)}${month.slice(0, 4)}`
    const wantsDays = has('audit_log') && !facts.kinds.has(year)
    const wantsUses = has('allotment_consumption') && surroundings.behind < monthsOfUses
    if (!wantsDays && !wantsUses) return []
    const [days, uses] = [createDays(), createUses()]
    for await (const { documents } of wholePages(facts, database)) {
      for (const document of documents) {
        if (wantsDays && document.type === 'audit_log') days.add(document)
        if (wantsUses && document.type === 'allotment_consumption') uses.add(document)
      }
    }
    return [...days.drafts(accountId), ...uses.drafts(accountId)]
  }

  /** Adds the end of a month and returns the position after it. */
  const close = async (set: ChangeSet, reading: Reading, position: DatabaseRow): Promise<DatabaseRow> => {
    const { facts, place, month } = reading
    const notes = monthNotesIn(position)
    const closed = closeBook(notes.book, place.database, month)
    const drafts = [...closed.drafts, ...(await addedUp(reading, notes))]
    await batches.putMany(set, facts.source, drafts.map(drawnUp(place.database)))
    const findings = joinFindings(notes.findings, countFindings(closed.findings))
    const done: MonthNotes = { ...notes, findings, before: month.before, units: closed.units }
    return { ...position, mark: undefined, isWhole: true, notes: { ...done } }
  }

  /** The end of a month is known before its last part is stored. */
  const readFromBeginning = async (reading: Reading) => {
    const { facts, place, month } = reading
    const { book } = await readPages(reading, {
      pages: (after) => wholePages(facts, place.database, after),
      moves: async (set, position, { mark = position.mark, isLast }) =>
        isLast ? close(set, reading, { ...position, mark }) : { ...position, mark },
    })
    return closeBook(book, place.database, month).units
  }

  /** The units at the end stay as they were. */
  const readChanges = async (reading: Reading, since: string): Promise<MonthNotes> => {
    const { facts, place, position: before, calls } = reading
    const { book } = monthNotesIn(before)
    let isMoneyMoved = monthNotesIn(before).isMoneyMoved ?? false
    const changed = async function* (): AsyncGenerator<MonthPage> {
      for await (const page of facts.source.changes(place.database, since)) {
        const documents = page.documents.map((document) => readDocument(place.database, document))
        isMoneyMoved ||= documents.some(isMoney)
        if (documents.length + page.gone.length > 0) yield { documents, mark: page.mark }
      }
    }
    let asked = 0
    const { stored } = await readPages(reading, {
      // The second call reads everything, to learn which legs belong together.
      pages() {
        asked += 1
        return asked === 1 ? changed() : wholePages(facts, place.database)
      },
      moves: async (_set, position, { mark: sequence }) =>
        sequence === undefined
          ? undefined
          : { ...position, sequence, notes: { ...position.notes, book, isChanged: true, isMoneyMoved } },
    })
    await calls.settle()
    return monthNotesIn(stored())
  }

  interface Begun {
    facts: Facts
    place: MonthPlace
    row: DatabaseRow | undefined
    /** Read first, so that later changes are read again. */
    found: DatabaseFacts
    calls: CallImport<Others>
  }

  const readThere = async (
    { facts, place, row, found, calls }: Begun,
    surroundings: MonthSurroundings,
  ): Promise<number | undefined> => {
    const month = await monthOf(facts, place, surroundings.before)
    const anew = { ...begun(chapter, place.database), sequence: found.sequence }
    const reading = { facts, place, surroundings, month, calls, position: anew }
    if (!row?.isWhole) return readFromBeginning({ ...reading, position: row ?? anew })
    const { sequence } = row
    if (sequence === undefined || !facts.source.facts.canFollow) return readFromBeginning(reading)
    const notes =
      sequence === found.sequence
        ? monthNotesIn(row)
        : await readChanges({ ...reading, position: row }, sequence)
    return isToReadAgain(notes, surroundings) ? readFromBeginning(reading) : notes.units
  }

  const noteVanished = async (database: string, calls: CallImport<Others>) => {
    await calls.settle()
    const reached = (await run.database(database)) ?? begun(chapter, database)
    await batches.note(vanishedRow(reached))
    return monthNotesIn(reached).units
  }

  return {
    /**
     * Reads the months of an account in order: each begins with the end of the one before. `stored` ends
     * when the last part is stored.
     */
    async read(
      facts: Facts,
      ofAccount: readonly MonthPlace[],
      { isLastRound, stop }: Pick<MonthSurroundings, 'isLastRound'> & { stop: AbortSignal },
    ): Promise<{ stored: Promise<void> }> {
      const [first] = ofAccount
      if (!first) return { stored: Promise.resolve() }
      const names = ofAccount.map(({ database }) => database)
      const rows = await run.databasesNamed(names)
      // May be one request.
      const found = await Promise.all(names.map((name) => facts.source.database(name)))
      const calls = callImportOf(first.accountId)
      let before: number | undefined
      for (const [index, place] of ofAccount.entries()) {
        if (stop.aborted) break
        const surroundings = { before, behind: ofAccount.length - 1 - index, isLastRound }
        const there = found[index]
        const isThere =
          there !== undefined &&
          (await unlessVanished(async () => {
            const row = rows.get(place.database)
            before = await readThere({ facts, place, row, found: there, calls }, surroundings)
          }))
        if (!isThere) before = await noteVanished(place.database, calls)
      }
      return calls.handOver()
    },
  }
}
