import type { ImportedLeg } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import { costsOf, interactionOf } from '../../src/areas/calls/cdrs/intake/rules.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import { inParts } from '../../src/lib/list.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { type CallSums, joinSums, monthOfLeg, noSums, sumsOf } from '../conversions/call-import.ts'
import type { ConvertedLeg } from '../conversions/call-records.rules.ts'
import { type BookSoFar, closeBook, convertMoney, emptyBook, isMoney } from '../conversions/ledgers.rules.ts'
import { databaseKindOf } from '../documents/database-names.ts'
import { type MonthPlace, monthNotesIn, monthOf } from '../import-run/months.ts'
import { legsIn } from '../import-run/reading.ts'
import { isVanished } from '../import-run/store.ts'
import { documentPages } from '../import-sections/section.ts'
import { unlessVanished } from '../source/source.ts'
import { type Comparison, compareValues, rowsAtOnce } from './comparison.ts'
import { foundIn } from './differences.ts'

/** Months as they were counted while they were read, in the order of accounts. */
async function* monthsRead({ run }: Comparison) {
  for await (const row of run.databases()) {
    const kind = databaseKindOf(row.name)
    if (kind.kind === 'month' && row.isWhole && !isVanished(row))
      yield { ...kind, database: row.name, notes: monthNotesIn(row) }
  }
}

const compareBook = async (
  comparison: Comparison,
  { accountId, month }: Omit<MonthPlace, 'database'>,
  { moved, entries, carried }: BookSoFar,
) => {
  const here = await comparison.stored.booked(accountId, Number(month))
  compareValues(
    comparison,
    { account_id: accountId, question: 'ledger of a month', id: month },
    // A month without a beginning has a computed one here.
    { 'units carried over': carried ?? here.carried, 'units moved': moved, entries },
    { 'units carried over': here.carried, 'units moved': here.moved, entries: here.entries },
  )
  comparison.sum('units moved', moved, here.moved)
}

/** Ledgers of months have the sums of their documents. */
export const checkMonths = async (comparison: Comparison) => {
  for await (const month of monthsRead(comparison)) await compareBook(comparison, month, month.notes.book)
}

const readBook = async ({ facts }: Comparison, place: MonthPlace, before: number | undefined) => {
  const month = await monthOf(facts, place, before)
  let book = emptyBook
  for await (const { documents } of documentPages(facts.source, place.database))
    for (const document of documents.filter(isMoney)) ({ book } = convertMoney(document, month, book))
  return { book, units: closeBook(book, place.database, month).units }
}

/** Reads the months of an account again. */
export const compareBooks = async (
  comparison: Comparison,
  accountId: string,
  months: readonly MonthPlace[],
) => {
  let there = 0
  let before: number | undefined
  for (const place of months) {
    const { book, units } = await readBook(comparison, place, before)
    await compareBook(comparison, place, book)
    before = units
    there = units
  }
  const here = await comparison.stored.balance(accountId)
  compareValues(comparison, { account_id: accountId, question: 'balance' }, { units: there }, { units: here })
  comparison.sum('units of balances', there, here)
}

const measuresOf = ({ record }: ImportedLeg) => {
  const { duration_seconds = 0, billing_seconds = 0 } = record
  const { cost } = costsOf(record)
  return { duration_seconds, billing_seconds, cost, interaction_time: interactionOf(record).time }
}

/** Legs that an import would add now. Nothing is written. */
const missingOf = async ({ legAdoption }: Comparison, legs: readonly ConvertedLeg[]) => {
  const judge = await legAdoption.judging()
  const rows = legs.flatMap(({ leg }) => {
    const judged = judge(leg)
    return typeof judged === 'object' && 'row' in judged ? [judged.row] : []
  })
  const unused = new ChangeSet({ requestId: 'import' })
  const verdicts = await legAdoption.add(unused, rows, { looksFirst: true })
  return new Set(rows.flatMap(({ id }, index) => (verdicts[index] === 'accepted' ? [id] : [])))
}

/** Reports legs that are missing or differ, and returns their number. */
const compareLegs = async (
  comparison: Comparison,
  accountId: string,
  month: string,
  legs: readonly ConvertedLeg[],
) => {
  const missing = await missingOf(comparison, legs)
  const ids = legs.map(({ id }) => id)
  const stored = await comparison.stored.measures(accountId, Number(month), ids)
  const differences = legs.flatMap(({ id, leg, namesInteraction }) => {
    if (missing.has(id)) return [{ id, what: 'missing' }]
    const expected = measuresOf(leg)
    const found = stored.get(id) ?? expected
    // Without a named interaction it depends on the other imported legs.
    const { interaction_time } = namesInteraction ? expected : found
    const different = differencesBetween({ ...expected, interaction_time }, { ...found })
    return foundIn(different).map((one) => ({ id, ...one }))
  })
  comparison.add({ account_id: accountId, question: 'call record' }, legs.length, differences)
  return new Set(differences.map(({ id }) => id)).size
}

interface CountedMonth {
  database: string
  called: CallSums
}

/** Compares sums by month; where they differ, each leg. */
const compareCalls = async (
  comparison: Comparison,
  accountId: string,
  databases: readonly CountedMonth[],
) => {
  const { facts, stored, add, sum } = comparison
  const there = databases.reduce<CallSums>((sums, { called }) => joinSums(sums, called), {})
  const here = await stored.called(accountId)
  for (const month of [...new Set([...Object.keys(there), ...here.keys()])].sort()) {
    const [expected, found] = [there[month] ?? noSums, here.get(month) ?? noSums]
    sum('call records', expected.count, found.count)
    sum('seconds of calls', expected.duration, found.duration)
    sum('billed seconds', expected.billing, found.billing)
    sum('units of calls', expected.cost, found.cost)
    const differences = differencesBetween({ ...expected }, { ...found })
    let faults = 0
    for (const { database, called } of databases)
      if (differences.length > 0 && called[month])
        for await (const legs of legsIn(facts.source, { accountId, database })) {
          const ofMonth = legs.filter(({ id }) => monthOfLeg(id) === month)
          for (const some of inParts(ofMonth, rowsAtOnce))
            faults += await compareLegs(comparison, accountId, month, some)
        }
    // Two databases may contain the same leg.
    const isDifferent = faults > 0 || found.count > expected.count
    const place = { account_id: accountId, question: 'calls of a month', id: month }
    add(place, 1, isDifferent ? foundIn(differences) : [])
  }
}

/** Groups consecutive months of one account. */
async function* accountsRead(comparison: Comparison) {
  let last: { accountId: string; databases: CountedMonth[] } | undefined
  for await (const { accountId, database, notes } of monthsRead(comparison)) {
    if (last && last.accountId !== accountId) yield last
    if (last?.accountId !== accountId) last = { accountId, databases: [] }
    last.databases.push({ database, called: notes.called ?? {} })
  }
  if (last) yield last
}

/** Calls of each account and month have the same count, length, cost and interactions. */
export const checkCalls = async (comparison: Comparison) => {
  if (comparison.facts.withoutCalls) return
  for await (const { accountId, databases } of accountsRead(comparison))
    await unlessVanished(() => compareCalls(comparison, accountId, databases))
}

/** Reads the call records of an account again. */
export const compareCallsAgain = async (
  comparison: Comparison,
  accountId: string,
  months: readonly MonthPlace[],
) => {
  const databases: CountedMonth[] = []
  for (const { database } of months) {
    let called: CallSums = {}
    for await (const legs of legsIn(comparison.facts.source, { accountId, database }))
      called = joinSums(called, sumsOf(legs.map(({ id, leg }) => ({ id, ...measuresOf(leg) }))))
    databases.push({ database, called })
  }
  await compareCalls(comparison, accountId, databases)
}
