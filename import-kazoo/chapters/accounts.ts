// Everything in the databases of accounts but the accounts themselves and what is of a month.
import { systemScope } from '../../src/storage/change-set.ts'
import { isAccountDocument } from '../conversions/accounts.rules.ts'
import { convertCalls, isAboutCalls } from '../conversions/call-routing.rules.ts'
import { converted } from '../conversions/findings.ts'
import { convertLimits } from '../conversions/limits.rules.ts'
import { convertCopy, numberOf, shardOf } from '../conversions/numbers.rules.ts'
import { convertPeople, isOfPeople } from '../conversions/people.rules.ts'
import type { PeopleContext } from '../conversions/people-context.rules.ts'
import { keepOrList } from '../conversions/preserved.rules.ts'
import { convertPlan } from '../conversions/pricing.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { type Chapter, type Facts, kindOf } from './chapter.ts'

/** What the server knows that people's documents are held against. */
type PeopleVocabulary = Pick<PeopleContext, 'notices' | 'accountSettings'>

/** What of an account's database is told by type. A document belongs to the first part that wants it. */
const partOf = (document: KazooDocument) => {
  const { type } = document
  if (isAccountDocument(document)) return 'account'
  if (type === 'service_plan') return 'plans'
  if (type === 'limits') return 'limits'
  if (type === 'number') return 'numbers'
  if (isOfPeople(document)) return 'people'
  return isAboutCalls(type) ? 'calls' : 'others'
}

/** Of a number that has a database of its own only that says the truth. */
const convertNumberCopy = (document: KazooDocument, accountId: string, facts: Facts): Converted => {
  const number = numberOf(document.id)
  if (number === undefined || facts.kinds.has(shardOf(number))) return converted(document, 'skipped')
  const { accounts, uses = { of: () => [] } } = facts
  const context = { accounts, systemId: systemScope, uses, ports: new Map(), pools: new Map() }
  return convertCopy(document, accountId, context)
}

export const createAccountChapter = (vocabulary: PeopleVocabulary): Chapter => ({
  name: 'account documents',
  reads: 'whole',
  // Whoever stands above comes first: what arrives below is counted there.
  databases: ({ accounts, kinds }) =>
    [...accounts.keys()].map(accountDatabase).filter((database) => kinds.has(database)),

  convert(documents, place) {
    const { facts } = place
    const kind = kindOf(place)
    const accountId = kind.kind === 'account' ? kind.accountId : ''
    const account = facts.accounts.get(accountId)
    if (!account) return documents.map((document) => converted(document, 'skipped'))
    const { realm, dialPlan } = account
    const parts = Map.groupBy(documents, partOf)
    const of = (part: ReturnType<typeof partOf>) => parts.get(part) ?? []
    const { lost, providers } = facts
    return [
      ...of('plans').map((document) => convertPlan(document, accountId)),
      ...convertLimits(of('limits'), accountId),
      ...convertPeople(documents, { accountId, realm, lost, providers, ...vocabulary }),
      ...convertCalls(of('calls'), { accountId, realm, dialPlan }),
      ...of('numbers').map((document) => convertNumberCopy(document, accountId, facts)),
      ...of('others').map((document) => keepOrList(document, accountId)),
    ]
  },
})
