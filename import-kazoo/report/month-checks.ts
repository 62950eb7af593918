import type { ImportedLeg } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import { costsOf, interactionOf } from '../../src/areas/calls/cdrs/intake/rules.ts'
import type { Fault } from '../../src/lib/check.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { type CallSums, joinSums, noSums, type Sums } from '../conversions/call-import.ts'
import type { ConvertedLeg } from '../conversions/call-records.rules.ts'
import { inParts } from '../import-run/at-once.ts'
import { legsIn } from '../import-run/reading.ts'
import { unlessVanished } from '../source/source.ts'
import { type CheckDeps, difference, monthsRead, type ReportFault } from './checks.ts'

interface Months {
  accountId: string
  databases: { name: string; sums: CallSums }[]
}

// Labels for months, and for legs.
const ofMonths: readonly [keyof Sums, string][] = [
  ['count', 'legs'],
  ['duration', 'seconds'],
  ['billing', 'billed seconds'],
  ['cost', 'units'],
  ['begun', 'when interactions began, as a sum of its last six digits'],
]
const ofLegs: readonly [keyof Omit<Sums, 'count'>, string][] = [
  ['duration', 'duration_seconds'],
  ['billing', 'billing_seconds'],
  ['cost', 'cost'],
  ['begun', 'interaction_time'],
]

/** Calls of each account and month have the same count, length, cost and interactions. */
export const checkCalls = async (tools: CheckDeps, tell: ReportFault) => {
  const { checked, facts, legAdoption, author } = tools

  /** Groups consecutive months of one account. */
  async function* accounts(): AsyncGenerator<Months> {
    let last: Months | undefined
    for await (const { accountId, database, notes } of monthsRead(tools)) {
      if (last && last.accountId !== accountId) {
        yield last
        last = undefined
      }
      last ??= { accountId, databases: [] }
      last.databases.push({ name: database, sums: notes.called ?? {} })
    }
    if (last) yield last
  }

  /** Legs that an import would add now. Nothing is written. */
  const missingOf = async (legs: readonly ImportedLeg[]) => {
    const judge = await legAdoption.judging()
    const rows = legs.flatMap((leg) => {
      const judged = judge(leg)
      return typeof judged === 'object' && 'row' in judged ? [judged.row] : []
    })
    const verdicts = await legAdoption.add(new ChangeSet(author), rows, { looksFirst: true })
    return new Set(rows.flatMap(({ id }, index) => (verdicts[index] === 'accepted' ? [id] : [])))
  }

  /** Legs that are missing or differ. */
  const faultsAmong = async (
    accountId: string,
    month: string,
    some: readonly ConvertedLeg[],
  ): Promise<Fault[]> => {
    const missing = await missingOf(some.map(({ leg }) => leg))
    const found = await checked.measures(
      accountId,
      Number(month),
      some.map(({ id }) => id),
    )
    const reasonOf = ({ id, leg: { record }, namesInteraction }: ConvertedLeg) => {
      if (missing.has(id)) return 'it is not there'
      const { duration_seconds: duration = 0, billing_seconds: billing = 0 } = record
      const measured = { duration, billing, cost: costsOf(record).cost, begun: interactionOf(record).time }
      const there = found.get(id) ?? measured
      // Without a named interaction it depends on the other imported legs.
      const expected = namesInteraction ? measured : { ...measured, begun: there.begun }
      const differing = ofLegs.find(([measure]) => there[measure] !== expected[measure])
      if (!differing) return undefined
      const [measure, name] = differing
      return difference(name, expected[measure], there[measure])
    }
    return some.flatMap((leg) => {
      const reason = reasonOf(leg)
      return reason === undefined ? [] : [{ place: `account ${accountId}, call record ${leg.id}`, reason }]
    })
  }

  /** Reports differing legs and returns their number. */
  const nameFaults = async (accountId: string, database: string, month: string) => {
    let count = 0
    for await (const all of legsIn(facts.source, { accountId, database }))
      for (const some of inParts(all.filter(({ id }) => id.startsWith(month)))) {
        const faults = await faultsAmong(accountId, month, some)
        for (const fault of faults) tell(fault)
        count += faults.length
      }
    return count
  }

  const checkMonth = async (
    { accountId, databases }: Months,
    month: string,
    [expected, found]: readonly [Sums, Sums],
  ) => {
    const differing = ofMonths.filter(([key]) => expected[key] !== found[key])
    if (differing.length === 0) return
    let faults = 0
    for (const { name, sums } of databases)
      if (sums[month]) faults += await nameFaults(accountId, name, month)
    // Two databases may contain the same leg.
    const isMore = found.count > expected.count
    if (faults > 0 || isMore)
      tell({
        place: `calls of account ${accountId}, month ${month}`,
        reason: differing.map(([key, name]) => difference(name, expected[key], found[key])).join('; '),
      })
  }

  const checkAccount = async (months: Months) => {
    const expected = months.databases.reduce<CallSums>((sums, one) => joinSums(sums, one.sums), {})
    const found = await checked.called(months.accountId)
    for (const month of [...new Set([...Object.keys(expected), ...found.keys()])].sort())
      await checkMonth(months, month, [expected[month] ?? noSums, found.get(month) ?? noSums])
  }

  if (facts.withoutCalls) return
  for await (const months of accounts()) await unlessVanished(() => checkAccount(months))
}

/** Ledgers of months have the sums of their documents. */
export const checkMonths = async (tools: CheckDeps, tell: ReportFault) => {
  for await (const { accountId, month, notes } of monthsRead(tools)) {
    const found = await tools.checked.booked(accountId, Number(month))
    const place = `ledger of account ${accountId}, month ${month}`
    // A month without a beginning has a computed one here.
    const { moved, entries, carried = found.carried } = notes.book
    const sums: [string, number, number][] = [
      ['units carried over', carried, found.carried],
      ['units moved', moved, found.moved],
      ['entries that moved them', entries, found.entries],
    ]
    for (const [what, expected, there] of sums)
      if (expected !== there) tell({ place, reason: difference(what, expected, there) })
  }
}
