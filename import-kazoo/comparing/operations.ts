import type { ImportStates } from '../../src/areas/system/imports/area.ts'
import type { Fault } from '../../src/lib/check.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { everything } from '../import-run/import-scope.ts'
import { monthsIn } from '../import-run/months.ts'
import { createGathering } from '../import-sections/gathering.ts'
import type { Source } from '../source/source.ts'
import { type CheckDeps, type Comparison, createComparison, type Respond } from './comparison.ts'
import { createTally, faultOf, reportedAt, sampleOf } from './differences.ts'
import { checkDocuments, checkRecords } from './documents.ts'
import { checkCalls, checkMonths, compareBooks, compareCallsAgain } from './months.ts'
import {
  checkNumbers,
  checkOtherAccounts,
  compareAccounts,
  compareNumbers,
  compareRecords,
} from './records.ts'
import { compareKeysOfAccount, compareKeysOfNumbers } from './source-keys.ts'

/** The checks of `--finish`, by the names that differences are reported under. */
const importChecks: Readonly<Record<string, (comparison: Comparison) => Promise<void>>> = {
  documents: checkDocuments,
  async accounts(comparison) {
    await compareAccounts(comparison)
    await checkOtherAccounts(comparison)
  },
  records: checkRecords,
  numbers: checkNumbers,
  months: checkMonths,
  calls: checkCalls,
  async keys(comparison) {
    for (const accountId of comparison.accountIds) await compareKeysOfAccount(comparison, accountId)
    await compareKeysOfNumbers(comparison)
  },
}

export const checkImport = async (
  deps: CheckDeps,
  look: Pick<Comparison, 'facts' | 'respond' | 'begun'>,
  onDifference: (check: string, fault: Fault) => void,
) => {
  const accountIds = [...look.facts.accounts.keys()]
  for (const [name, check] of Object.entries(importChecks)) {
    const add: Comparison['add'] = (place, _asked, found) => {
      // The import has reported rejected keys.
      for (const { why, ...difference } of reportedAt(place, found))
        if (name !== 'keys' || why === undefined) onDifference(name, faultOf(difference))
    }
    await check(createComparison(deps, { ...look, accountIds, add, sum: () => undefined }))
  }
}

interface ComparisonOptions {
  /** Number of accounts below the master account. */
  sample: number
  seed: string
  respond: Respond
  onAccount?(done: number, all: number): void
}

/** Compares what the documents become with the store: differences are changes or losses of the store. */
export const createDatabaseComparison =
  ({ states, ...deps }: CheckDeps & { states: Pick<ImportStates, 'read'> }) =>
  async (source: Source, { sample, seed, respond, onAccount }: ComparisonOptions) => {
    const { narrowing = everything, begun } = (await states.read()) ?? {}
    const facts = await createGathering(source)(begun ?? gregorianNow(deps.store.clock), narrowing)
    const { tally, add, sum, sums } = createTally(['account', 'tree'])
    const below = [...facts.accounts.keys()].filter((id) => id !== facts.masterId)
    const accountIds = [facts.masterId, ...sampleOf(below, { sample, seed })]
    const comparison = createComparison(deps, { facts, respond, begun, accountIds, add, sum })
    const months = Map.groupBy(monthsIn(facts).flat(), ({ accountId }) => accountId)
    sum('accounts', facts.accounts.size, await comparison.stored.accountCount())
    await compareAccounts(comparison)
    const numbers = []
    for (const [index, accountId] of accountIds.entries()) {
      numbers.push(...(await compareRecords(comparison, accountId)))
      await compareKeysOfAccount(comparison, accountId)
      const ofAccount = months.get(accountId) ?? []
      await compareBooks(comparison, accountId, ofAccount)
      if (!facts.withoutCalls) await compareCallsAgain(comparison, accountId, ofAccount)
      onAccount?.(index + 1, accountIds.length)
    }
    await compareNumbers(comparison, numbers)
    await compareKeysOfNumbers(comparison)
    const [accounts, ofAll] = [accountIds.length, facts.accounts.size]
    return { source: source.facts.title, accounts, of_accounts: ofAll, ...tally, sums }
  }

export type ComparedWithDatabase = Awaited<ReturnType<ReturnType<typeof createDatabaseComparison>>>
