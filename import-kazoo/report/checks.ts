// Whether everything that the source has has come to something here, before an import is finished.
import type { Check } from '../../src/lib/check.ts'
import { checkCalls } from './checks/calls.ts'
import { checkDocuments } from './checks/documents.ts'
import { checkKeys } from './checks/keys.ts'
import { checkMonths } from './checks/months.ts'
import { checkNumbers } from './checks/numbers.ts'
import { checkRecords } from './checks/records.ts'
import type { CheckTools } from './checks/told.ts'
import { checkAccounts } from './checks/tree.ts'

/** What is held against each other when an import is finished. */
export const importChecks = (tools: CheckTools): Check[] => [
  checkDocuments(tools),
  checkAccounts(tools),
  checkRecords(tools),
  checkNumbers(tools),
  checkMonths(tools),
  checkCalls(tools),
  checkKeys(tools),
]
