import { costsOf, interactionOf } from '../../src/areas/calls/cdrs/intake/rules.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import { type CallSums, joinSums, monthOfLeg, noSums, type Sums, sumsOf } from '../conversions/call-import.ts'
import { closeBook, convertMoney, emptyBook, isMoney } from '../conversions/ledgers.rules.ts'
import { readDocument } from '../documents/fields.ts'
import type { CheckedStore } from '../report/store.ts'
import { type MonthPlace, monthOf } from '../running/months.ts'
import { legsIn } from '../running/reading.ts'
import { type Look, toldAt } from './drawings.ts'

/** `isLoose`: some calls name no interaction. With whom those belong depends on which of them have come. */
const comparedOf = ({ begun, ...compared }: Sums, isLoose: boolean) =>
  isLoose ? compared : { ...compared, begun }

/** Money and calls of accounts, month by month, and what balances come to. */
export const createMonthComparison = (checked: CheckedStore) => {
  const bookOf = async ({ facts }: Look, place: MonthPlace, before: number | undefined) => {
    const month = await monthOf(facts, place, before)
    let book = emptyBook
    for await (const { documents } of facts.source.pages(place.database))
      for (const document of documents.map((one) => readDocument(place.database, one)).filter(isMoney))
        ({ book } = convertMoney(document, month, book))
    return { moved: book.moved, units: closeBook(book, place.database, month).units }
  }

  const callsOf = async ({ facts }: Look, place: MonthPlace) => {
    let calls: CallSums = {}
    const loose = new Set<string>()
    for await (const legs of legsIn(facts.source, place)) {
      for (const { id, namesInteraction } of legs) if (!namesInteraction) loose.add(monthOfLeg(id))
      calls = joinSums(
        calls,
        sumsOf(
          legs.map(({ id, leg: { record } }) => ({
            ...record,
            ...costsOf(record),
            interaction_time: interactionOf(record).time,
            id,
          })),
        ),
      )
    }
    return { calls, loose }
  }

  /** Answers with the units that the last month ends with. */
  const compareBooks = async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    let before: number | undefined
    for (const place of months) {
      const { moved: there, units } = await bookOf(look, place, before)
      const { moved: here } = await checked.booked(accountId, Number(place.month))
      const asked = { account_id: accountId, question: 'ledger of a month', id: place.month }
      look.add(asked.question, 1, there === here ? [] : [{ ...asked, what: 'units', there, here }])
      look.sum('units moved', there, here)
      before = units
    }
    return before ?? 0
  }

  const compareBalance = async ({ add, sum }: Look, accountId: string, there: number) => {
    const here = await checked.balance(accountId)
    const asked = { account_id: accountId, question: 'balance' }
    add(asked.question, 1, there === here ? [] : [{ ...asked, what: 'units', there, here }])
    sum('units of balances', there, here)
  }

  const compareCalls = async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    let there: CallSums = {}
    const loose = new Set<string>()
    for (const place of months) {
      const found = await callsOf(look, place)
      there = joinSums(there, found.calls)
      for (const month of found.loose) loose.add(month)
    }
    const here = await checked.called(accountId)
    for (const month of [...new Set([...Object.keys(there), ...here.keys()])].sort()) {
      const [one, other] = [there[month] ?? noSums, here.get(month) ?? noSums]
      const asked = { account_id: accountId, question: 'calls of a month', id: month }
      const [said, stored] = [one, other].map((sums) => comparedOf(sums, loose.has(month)))
      look.add(asked.question, 1, toldAt(asked, differencesBetween({ ...said }, { ...stored })))
      look.sum('call records', one.count, other.count)
      look.sum('seconds of calls', one.duration, other.duration)
      look.sum('billed seconds', one.billing, other.billing)
      look.sum('units of calls', one.cost, other.cost)
    }
  }

  return async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    await compareBalance(look, accountId, await compareBooks(look, accountId, months))
    if (!look.facts.withoutCalls) await compareCalls(look, accountId, months)
  }
}
