import { rolloverId } from '../../src/areas/billing/ledgers/rules.ts'
import type { ChangeSet } from '../../src/storage/change-set.ts'
import type { CallImport, CallSums, MonthPage, MonthPart, Others } from '../conversions/call-import.ts'
import { joinSums } from '../conversions/call-import.ts'
import { converted } from '../conversions/findings.ts'
import type { BookSoFar, MonthOfAccount } from '../conversions/ledgers.rules.ts'
import { closeBook, convertMoney, emptyBook, isMoney } from '../conversions/ledgers.rules.ts'
import { preserveDocument, preserveOrCount } from '../conversions/preserved.rules.ts'
import { convertAudit, createDays, createUses } from '../conversions/service-usage.rules.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { isGone, readDocument } from '../documents/fields.ts'
import { documentPages, emptyDocument, type Facts } from '../import-sections/section.ts'
import { type CountedFindings, countFindings, joinFindings } from '../report/report.ts'
import { unlessVanished } from '../source/source.ts'
import { begun, type ReadingDeps } from './reading.ts'
import { type DatabaseRow, vanishedRow } from './store.ts'

// Databases of months may have millions of documents, so the result of each is not stored: importing one
// again changes nothing.

interface Deps extends Omit<ReadingDeps, 'triesAgain'> {
  callImportOf(accountId: string): CallImport
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

/** The months of each account, the oldest first. */
export const monthsIn = ({ kinds, accounts, sinceMonth = 0 }: Facts): MonthPlace[][] => {
  const places = [...kinds].flatMap(([database, kind]): MonthPlace[] => {
    if (kind.kind !== 'month' || Number(kind.month) < sinceMonth || !accounts.has(kind.accountId)) return []
    return [{ database, accountId: kind.accountId, month: kind.month }]
  })
  const byAccount = Map.groupBy(places, ({ accountId }) => accountId).values()
  return Array.from(byAccount, (months) => months.sort((a, b) => (a.month < b.month ? -1 : 1)))
}

const chapter = 'months'

// A cycle is at most a month long, so it began in this month or the one before.
const monthsOfUses = 2

export const monthNotesIn = ({ notes }: Pick<DatabaseRow, 'notes'>) =>
  ({ book: emptyBook, counts: {}, findings: [], ...notes }) as unknown as MonthNotes

/** A record without its document. */
const drawnUp = (database: string) => (draft: Draft) =>
  converted(emptyDocument(database, draft.id), 'imported', { drafts: [draft] })

const sizeOf = ({ counts, others }: MonthPart) =>
  counts.imported + counts.duplicates + counts.skipped + counts.aside + others.converted.length

/** The notes after a part. */
const notesWith = (
  { counts: before, called = {}, findings, ...others }: MonthNotes,
  part: MonthPart,
): MonthNotes => {
  const { converted, book } = part.others
  const { imported, duplicates, skipped, aside } = part.counts
  const counts: Record<string, number> = { ...before }
  const add = (key: string, count: number) => {
    if (count > 0) counts[key] = (counts[key] ?? 0) + count
  }
  for (const { document, outcome } of converted) add(`${document.type} ${outcome}`, 1)
  add('cdr imported', imported + duplicates)
  add('cdr skipped', skipped)
  add('cdr kept', aside)
  const found = countFindings(converted.flatMap((one) => one.findings))
  return {
    ...others,
    book,
    counts,
    called: joinSums(called, part.called),
    findings: joinFindings([...findings, ...found], part.findings),
  }
}

const hasRollover = async ({ source }: Facts, { month, database }: MonthPlace) => {
  const rollover = await source.document(database, rolloverId(Number(month)))
  return rollover !== undefined && !isGone(readDocument(database, rollover).fields)
}

/** `before`: units at the end of the month before; undefined if unknown. */
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

const convertOther = (document: KazooDocument, { accountId, accountName }: MonthOfAccount): Converted => {
  if (document.type === 'audit_log') return convertAudit(document, { id: accountId, name: accountName })
  // Summed up at the end of the month.
  if (document.type === 'allotment_consumption') return converted(document, 'skipped')
  return preserveOrCount(document, accountId)
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
    book = money.book
    return money
  })
  return { converted: all, book }
}

interface Reading {
  facts: Facts
  place: MonthPlace
  month: MonthOfAccount
  /** Number of later months of the account. */
  behind: number
  position: DatabaseRow
  calls: CallImport
}

interface Storing {
  pages(after?: string): AsyncIterable<MonthPage>
  /** Returns the position to store with a part; undefined: none. */
  moves(set: ChangeSet, position: DatabaseRow, part: MonthPart): Promise<DatabaseRow | undefined>
}

/** Daily service changes of months whose year has no database, and use of included minutes of the last cycles. */
const summedUp = async ({ facts, place, behind }: Reading, { counts }: MonthNotes) => {
  const { database, accountId, month } = place
  const has = (type: string) => Object.keys(counts).some((key) => key.startsWith(`${type} `))
  const year = `${database.slice(0, -month.length)}${month.slice(0, 4)}`
  const wantsDays = has('audit_log') && !facts.kinds.has(year)
  const wantsUses = has('allotment_consumption') && behind < monthsOfUses
  if (!wantsDays && !wantsUses) return []
  const [days, uses] = [createDays(), createUses()]
  for await (const { documents } of documentPages(facts.source, database))
    for (const document of documents) {
      if (wantsDays && document.type === 'audit_log') days.add(document)
      if (wantsUses && document.type === 'allotment_consumption') uses.add(document)
    }
  return [...days.drafts(accountId), ...uses.drafts(accountId)]
}

type PageDeps = Pick<Deps, 'run' | 'batches' | 'onBatch'>

/** Returns the book after the pages, and the stored position: the last part may still wait for the next month. */
const readPages = async (
  { run, batches, onBatch }: PageDeps,
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
        yield { documents: documents.filter(({ type }) => !facts.withoutCalls || type !== 'cdr'), mark }
    },
    convertOthers(documents) {
      const others = convertOthers(documents, month, book)
      book = others.book
      return others
    },
    async add(set, part) {
      const kept = part.aside.map((document) => preserveDocument(document, accountId))
      await batches.putMany(set, facts.source, [...part.others.converted, ...kept])
      const documents = stored.documents + sizeOf(part)
      const notes = { ...notesWith(monthNotesIn(stored), part) }
      const moved = await moves(set, { ...stored, documents, notes }, part)
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

/** Adds the end of a month and returns the position after it. */
const closeMonth = async (
  { batches }: PageDeps,
  set: ChangeSet,
  reading: Reading,
  position: DatabaseRow,
): Promise<DatabaseRow> => {
  const { facts, place, month } = reading
  const notes = monthNotesIn(position)
  const closed = closeBook(notes.book, place.database, month)
  const drafts = [...closed.drafts, ...(await summedUp(reading, notes))]
  await batches.putMany(set, facts.source, drafts.map(drawnUp(place.database)))
  const findings = joinFindings(notes.findings, countFindings(closed.findings))
  const done: MonthNotes = { ...notes, findings, before: month.before, units: closed.units }
  return { ...position, mark: undefined, isWhole: true, notes: { ...done } }
}

/** The end of a month is known before its last part is stored. */
const readFromBeginning = async (deps: PageDeps, reading: Reading) => {
  const { facts, place, month } = reading
  const { book } = await readPages(deps, reading, {
    pages: (after) => documentPages(facts.source, place.database, after),
    moves: async (set, position, { mark = position.mark, isLast }) =>
      isLast ? closeMonth(deps, set, reading, { ...position, mark }) : { ...position, mark },
  })
  return closeBook(book, place.database, month).units
}

/** The units at the end stay as they were. */
const readChanges = async (deps: PageDeps, reading: Reading, since: string): Promise<MonthNotes> => {
  const { facts, place, position, calls } = reading
  const { book, isMoneyMoved: wasMoved = false } = monthNotesIn(position)
  let isMoneyMoved = wasMoved
  const changed = async function* (): AsyncGenerator<MonthPage> {
    for await (const page of facts.source.changes(place.database, since)) {
      const documents = page.documents.map((document) => readDocument(place.database, document))
      isMoneyMoved ||= documents.some(isMoney)
      if (documents.length + page.gone.length > 0) yield { documents, mark: page.mark }
    }
  }
  let isFirst = true
  const { stored } = await readPages(deps, reading, {
    // The second call reads everything, to learn which legs belong together.
    pages() {
      const pages = isFirst ? changed() : documentPages(facts.source, place.database)
      isFirst = false
      return pages
    },
    moves: async (_set, { notes, ...reached }, { mark: sequence }) =>
      sequence === undefined
        ? undefined
        : { ...reached, sequence, notes: { ...notes, book, isChanged: true, isMoneyMoved } },
  })
  await calls.settle()
  return monthNotesIn(stored())
}

export const createMonthReading = (deps: Deps) => {
  const { run, batches, callImportOf, isLastPass } = deps

  /** Returns the units at the end. `sequence`: read first, so that later changes are read again. */
  const readMonth = async (
    reading: Omit<Reading, 'position'>,
    row: DatabaseRow | undefined,
    sequence: string | undefined,
  ): Promise<number | undefined> => {
    const { facts, place, month, behind } = reading
    const anew = { ...reading, position: { ...begun(chapter, place.database), sequence } }
    if (!row?.isWhole) return readFromBeginning(deps, row ? { ...reading, position: row } : anew)
    if (row.sequence === undefined || !facts.source.facts.canFollow) return readFromBeginning(deps, anew)
    const { before, units, isChanged, isMoneyMoved } =
      row.sequence === sequence
        ? monthNotesIn(row)
        : await readChanges(deps, { ...reading, position: row }, row.sequence)
    const isOutdated = before !== month.before || (isMoneyMoved && behind > 0) || (isChanged && isLastPass)
    return isOutdated ? readFromBeginning(deps, anew) : units
  }

  const noteVanished = async (database: string, calls: CallImport) => {
    await calls.settle()
    const reached = (await run.database(database)) ?? begun(chapter, database)
    await batches.note(vanishedRow(reached))
    return monthNotesIn(reached).units
  }

  /** Reads the months of an account in order: each begins with the end of the one before. */
  return async (facts: Facts, ofAccount: readonly MonthPlace[], stop: AbortSignal): Promise<void> => {
    const names = ofAccount.map(({ database }) => database)
    const rows = await run.databasesNamed(names)
    const found = await Promise.all(names.map((name) => facts.source.database(name)))
    const calls = callImportOf(ofAccount[0]?.accountId ?? '')
    let before: number | undefined
    for (const [index, place] of ofAccount.entries()) {
      if (stop.aborted) break
      const there = found[index]
      const behind = ofAccount.length - 1 - index
      const isThere =
        there !== undefined &&
        (await unlessVanished(async () => {
          const month = await monthOf(facts, place, before)
          const row = rows.get(place.database)
          before = await readMonth({ facts, place, month, behind, calls }, row, there.sequence)
        }))
      if (!isThere) before = await noteVanished(place.database, calls)
    }
    await calls.settle()
  }
}
