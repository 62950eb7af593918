import type { Json } from '../../src/lib/json.ts'
import { inParts } from '../import-run/at-once.ts'
import { isRefused } from '../import-run/store.ts'
import { databasesOf } from '../import-sections/section.ts'
import {
  type Comparison,
  chapterNamed,
  compareCounts,
  convertAgain,
  type ExpectedRecord,
  expectedRecords,
  expectedRecordsOf,
  withReason,
  withRows,
} from './comparison.ts'
import { differencesAt, differencesOfRecords } from './differences.ts'

const hearsay = 'number_by_hearsay'

export const numberImporters: ReadonlySet<string> = new Set(['number', hearsay])

type Stored = Awaited<ReturnType<Comparison['numbers']['findSeveral']>>

const differencesOf = (
  { draft: { as, accountId, id, doc, facts } }: ExpectedRecord,
  number: ReturnType<Stored['get']>,
) => {
  const place = { ...(accountId === '' ? {} : { account_id: accountId }), question: 'number', id }
  if (!number) return [{ ...place, what: 'missing' }]
  // The inventory takes precedence over hearsay.
  if (as === hearsay && !number.hidden.isHearsay) return []
  const { hidden, usedBy, ...others } = facts as { hidden: Json; usedBy: string }
  const { accountId: owner, state, carrier } = number
  const expected = { account_id: accountId, ...others, used_by: usedBy, ...hidden }
  const found = { account_id: owner, state, carrier, used_by: number.usedBy, ...number.hidden }
  return differencesAt(place, [
    ...differencesOfRecords(doc, number.doc),
    ...differencesOfRecords(expected, found),
  ])
}

/** Compares owner, state, fields and features. */
const compareAll = async (comparison: Comparison, expected: readonly ExpectedRecord[]) => {
  for (const some of inParts(expected)) {
    const stored = await comparison.numbers.findSeveral(some.map(({ draft }) => draft.id))
    for (const one of some) {
      const number = stored.get(one.draft.id)
      comparison.add(
        'number',
        1,
        await withReason(comparison, one, number?.modified, differencesOf(one, number)),
      )
    }
  }
}

/** Compares the numbers of the compared accounts; `others`: those that only documents of an account name. */
export const compareNumbers = async (comparison: Comparison, others: readonly ExpectedRecord[]) => {
  const { facts, accountIds, stored, add, sum } = comparison
  const there = new Map(accountIds.map((id) => [id, new Set<string>()]))
  const compareOwned = async (expected: readonly ExpectedRecord[]) => {
    const owned = expected.filter(
      ({ draft: { as, accountId } }) => numberImporters.has(as) && there.has(accountId),
    )
    for (const { draft } of owned) there.get(draft.accountId)?.add(draft.id)
    await compareAll(comparison, owned)
  }
  for (const database of databasesOf(facts, 'numbers'))
    for await (const page of expectedRecords(comparison, 'numbers', database)) await compareOwned(page)
  await compareOwned(others)
  for (const [accountId, ids] of there) {
    const here = await stored.numbersOf(accountId)
    const extra = [...here].filter((id) => !ids.has(id))
    add(
      'number',
      0,
      extra.map((id) => ({ account_id: accountId, question: 'number', id, what: 'extra' })),
    )
    sum('number', ids.size, here.size)
  }
}

/** All numbers are there, and no others. */
export const checkNumbers = async (comparison: Comparison) => {
  const states = new Map<string, number>()
  const chapter = chapterNamed(comparison, 'numbers')
  if (!chapter) return
  const isWhole = await convertAgain(comparison, chapter, async (converted, database) => {
    const all = await withRows(comparison, database, converted)
    const taken = all.filter(({ row }) => !row || !isRefused(row)).map(({ one }) => one)
    const expected = expectedRecordsOf(taken).filter(({ draft }) => draft.as === 'number')
    for (const { draft } of expected) {
      const state = String(draft.facts.state)
      states.set(state, (states.get(state) ?? 0) + 1)
    }
    await compareAll(comparison, expected)
  })
  // A vanished database makes counts useless.
  if (!isWhole) return
  const here = await comparison.stored.numberStates()
  compareCounts(comparison, 'all numbers', (state) => `in state ${state}`, states, here)
}
