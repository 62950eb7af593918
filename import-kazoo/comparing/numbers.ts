import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import type { Json } from '../../src/lib/json.ts'
import { databasesOf } from '../import-sections/section.ts'
import type { CheckedStore } from '../report/store.ts'
import { type Drawing, type Drawings, type Look, toldAt } from './drawings.ts'
import { differencesOfRecords } from './rules.ts'

interface NumberComparisonDeps {
  numbers: Pick<Numbers['store'], 'findSeveral'>
  checked: CheckedStore
  drawings: Drawings
}

type StoredNumbers = Awaited<ReturnType<Numbers['store']['findSeveral']>>

const hearsay = 'number_by_hearsay'
const ofNumbers: ReadonlySet<string> = new Set(['number', hearsay])
const atOnce = 500

/** Numbers of accounts: whose they are, in which state, with which fields and features. */
export const createNumberComparison = ({ numbers, checked, drawings }: NumberComparisonDeps) => {
  const compareOne = async (drawing: Drawing, stored: StoredNumbers) => {
    const { as, accountId, id, doc, facts } = drawing.draft
    const number = stored.get(id)
    const place = { account_id: accountId, question: 'number', id }
    if (!number) return drawings.withReason(drawing, undefined, [{ ...place, what: 'missing' }])
    // Whatever else tells of it, what the inventory says counts.
    if (as === hearsay && !number.hidden.isHearsay) return []
    const { hidden, usedBy, ...others } = facts as { hidden: Json; usedBy: string }
    const { accountId: owner, state, carrier } = number
    const expected = { account_id: accountId, ...others, used_by: usedBy, ...hidden }
    const found = { account_id: owner, state, carrier, used_by: number.usedBy, ...number.hidden }
    const differences = [...differencesOfRecords(doc, number.doc), ...differencesOfRecords(expected, found)]
    return drawings.withReason(drawing, number.modified, toldAt(place, differences))
  }

  return {
    /** What the inventory tells of numbers of these accounts: of all others nothing is held. */
    async ofAccounts({ facts }: Look, accountIds: readonly string[]) {
      const found = new Map<string, Drawing[]>(accountIds.map((id) => [id, []]))
      for (const database of databasesOf(facts, 'numbers'))
        for await (const page of drawings.pages('numbers', facts, database))
          for (const drawing of page)
            if (ofNumbers.has(drawing.draft.as)) found.get(drawing.draft.accountId)?.push(drawing)
      return found
    },

    /** `all`: what tells of the account's numbers, and anything else. */
    async compare({ add, sum }: Look, accountId: string, all: readonly Drawing[]) {
      const told = all.filter(({ draft }) => ofNumbers.has(draft.as))
      for (let from = 0; from < told.length; from += atOnce) {
        const some = told.slice(from, from + atOnce)
        const stored = await numbers.findSeveral(some.map(({ draft }) => draft.id))
        for (const drawing of some) add('number', 1, await compareOne(drawing, stored))
      }
      const there = new Set(told.map(({ draft }) => draft.id))
      const here = await checked.numbersOf(accountId)
      const place = { account_id: accountId, question: 'number' }
      const extra = [...here].filter((id) => !there.has(id))
      add(
        'number',
        0,
        extra.map((id) => ({ ...place, id, what: 'extra' })),
      )
      sum('number', there.size, here.size)
    },
  }
}
