// Compares the records that documents become with the stored records: differences are changes or losses of
// the store.

import type { Importer } from '../../src/areas/adoption.ts'
import type { Validate } from '../../src/areas/area.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import type { ImportStates } from '../../src/areas/system/imports/area.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { present } from '../../src/lib/json.ts'
import type { Store } from '../../src/storage/store.ts'
import { monthsIn } from '../import-run/months.ts'
import { createRunStore } from '../import-run/store.ts'
import { createGathering } from '../import-sections/gathering.ts'
import { everything, type ImportSection } from '../import-sections/section.ts'
import { createCheckedStore } from '../report/store.ts'
import type { Source } from '../source/source.ts'
import { type BothSums, createTally, type ReportedDifference, sampleOf, type Tally } from './differences.ts'
import { type ComparisonRun, createExpectedRecords } from './expected-records.ts'
import {
  createAccountComparison,
  createMonthComparison,
  createNumberComparison,
  createRecordComparison,
} from './records.ts'
import { type ComparedDocument, createSourceComparison, type Respond } from './source-keys.ts'

interface Deps {
  store: Store
  states: Pick<ImportStates, 'read'>
  adoptions: Readonly<Record<string, Importer>>
  validate: Validate
  chapters: readonly ImportSection[]
  numbers: Pick<Numbers['store'], 'findSeveral'>
}

interface ComparisonOptions {
  /** Number of accounts below the master account. */
  sample: number
  seed: string
  respond: Respond
  onAccount?(done: number, all: number): void
}

export interface ComparedWithDatabase extends Tally {
  source: string
  accounts: number
  of_accounts: number
  sums: BothSums[]
}

const keyDifferencesOf = (compared: ComparedDocument): [string, number, ReportedDifference[]] => {
  const { accountId, type, id, isMissing, why, differences } = compared
  const place = { account_id: accountId, question: `${type}, key by key`, id }
  const missing = { ...place, what: 'missing', ...present({ why }) }
  const told = differences.map(({ path, ...one }) => ({ ...place, what: path, ...one }))
  return [place.question, 1, isMissing ? [missing] : told]
}

export const createComparison = ({ store, states, adoptions, validate, chapters, numbers }: Deps) => {
  const checked = createCheckedStore(store)
  const run = createRunStore(store)
  const drawings = createExpectedRecords({ store, adoptions, validate, chapters })
  const compareAccount = createAccountComparison(store, drawings)
  const compareRecords = createRecordComparison({ store, adoptions, drawings })
  const ofNumbers = createNumberComparison({ numbers, checked, drawings })
  const compareMonths = createMonthComparison(checked)

  const countAccounts = async () => {
    let count = 0
    for await (const page of checked.accounts()) count += page.length
    return count
  }

  return async (
    source: Source,
    { sample, seed, respond, onAccount }: ComparisonOptions,
  ): Promise<ComparedWithDatabase> => {
    const { narrowing = everything, begun } = (await states.read()) ?? {}
    const facts = await createGathering(source)(begun ?? gregorianNow(store.clock), narrowing)
    const { tally, ...counts } = createTally(['account', 'tree'])
    const { add, sum, sums } = counts
    const look: ComparisonRun = { facts, begun, ...counts }
    const below = [...facts.accounts.keys()].filter((id) => id !== facts.masterId)
    const chosen = [facts.masterId, ...sampleOf(below, { sample, seed })]
    const keys = createSourceComparison({ run, respond })
    const months = Map.groupBy(monthsIn(facts).flat(), ({ accountId }) => accountId)
    const owned = await ofNumbers.ofAccounts(look, chosen)
    sum('accounts', facts.accounts.size, await countAccounts())
    for (const [index, accountId] of chosen.entries()) {
      await compareAccount(look, accountId)
      const others = await compareRecords(look, accountId)
      for await (const compared of keys.ofAccount(facts, accountId)) add(...keyDifferencesOf(compared))
      await ofNumbers.compare(look, accountId, [...(owned.get(accountId) ?? []), ...others])
      await compareMonths(look, accountId, months.get(accountId) ?? [])
      onAccount?.(index + 1, chosen.length)
    }
    for await (const compared of keys.numbersOf(facts, new Set(chosen))) add(...keyDifferencesOf(compared))
    const [accounts, ofAll] = [chosen.length, facts.accounts.size]
    return { source: source.facts.title, accounts, of_accounts: ofAll, ...tally, sums: sums() }
  }
}
