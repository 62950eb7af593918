import { createSourceComparison } from '../comparing/source-keys.ts'
import { type CheckDeps, checkAccounts, checkNumbers, type ReportFault } from './checks.ts'
import { checkDocuments, checkRecords } from './document-checks.ts'
import { checkCalls, checkMonths } from './month-checks.ts'

/** Each key of the source documents is in the API's responses, or the import has reported why not. */
const checkKeys = async ({ run, facts, respond }: CheckDeps, tell: ReportFault) => {
  const keys = createSourceComparison({ run, respond })
  const accountIds = new Set(facts.accounts.keys())
  const all = async function* () {
    for (const accountId of accountIds) yield* keys.ofAccount(facts, accountId)
    yield* keys.numbersOf(facts, accountIds)
  }
  for await (const { accountId, type, id, isMissing, why, differences } of all()) {
    const place = `account ${accountId}, ${type} ${id}`
    if (isMissing && why === undefined) tell({ place, reason: 'the API does not have it' })
    for (const one of differences)
      if (one.why === undefined) tell({ place, reason: `${one.path}: the API does not have this value` })
  }
}

/** By the names that differences are reported under. */
export const importChecks: Readonly<Record<string, (tools: CheckDeps, tell: ReportFault) => Promise<void>>> =
  {
    documents: checkDocuments,
    accounts: checkAccounts,
    records: checkRecords,
    numbers: checkNumbers,
    months: checkMonths,
    calls: checkCalls,
    keys: checkKeys,
  }
