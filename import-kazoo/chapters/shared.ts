// What lies in databases that all accounts share.
import { systemScope } from '../../src/storage/change-set.ts'
import { convertAlert } from '../conversions/alerts/rules.ts'
import { converted } from '../conversions/findings.ts'
import { keepOrList } from '../conversions/kept/rules.ts'
import type { OwnerContext } from '../conversions/owners.ts'
import { convertProvider, isProvider, orphanedCopies } from '../conversions/people/rules.ts'
import { convertRate } from '../conversions/rates/rules.ts'
import { convertTask } from '../conversions/tasks/rules.ts'
import { convertWebhook } from '../conversions/webhooks/rules.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone, textIn } from '../documents/fields.ts'
import { type Chapter, databasesOf, type Facts, isOfOthers, systemDatabase } from './chapter.ts'

const ownersIn = ({ accounts }: Facts): OwnerContext => ({ accounts, systemId: systemScope })

const oneDatabase = (
  name: string,
  convert: (document: KazooDocument, facts: Facts) => Converted,
): Chapter => ({
  name,
  reads: 'pages',
  databases: (facts) => systemDatabase(facts, name),
  convert: (documents, { facts }) =>
    documents.map((document) =>
      isOfOthers(facts, textIn(document.fields, 'pvt_account_id'))
        ? converted(document, 'skipped')
        : convert(document, facts),
    ),
})

/** Whose document it is that nobody reads: that of an account which is here, or the system's. */
const keptBy = (document: KazooDocument, { accounts }: Facts) => {
  const owner = textIn(document.fields, 'pvt_account_id')
  return owner !== undefined && accounts.has(owner) ? owner : systemScope
}

export const alertsChapter = oneDatabase('alerts', (document, facts) =>
  convertAlert(document, { ...ownersIn(facts), now: facts.now }),
)

export const tasksChapter = oneDatabase('tasks', (document, facts) => convertTask(document, ownersIn(facts)))

export const webhooksChapter = oneDatabase('webhooks', (document, facts) =>
  convertWebhook(document, ownersIn(facts)),
)

export const addressesChapter = oneDatabase('dedicated_ips', (document, facts) =>
  keepOrList(document, keptBy(document, facts)),
)

/** Who provides second factors to everybody; of what else is there nothing is taken. */
export const authChapter = oneDatabase('system_auth', (document) =>
  isProvider(document) && !isGone(document.fields)
    ? convertProvider(document, { accountId: systemScope })
    : keepOrList(document, systemScope),
)

/** Copies of phones, for looking them up: only those that nobody has are of interest. */
export const phoneCopiesChapter = oneDatabase('sip_auth', (document, { accounts }) => {
  // They are not told among the phones.
  const copy = { ...document, type: 'sip_auth' }
  const findings = isGone(document.fields) ? [] : orphanedCopies([document], accounts)
  return converted(copy, 'skipped', { findings })
})

export const ratesChapter: Chapter = {
  name: 'rates',
  reads: 'pages',
  databases: (facts) => databasesOf(facts, 'ratedeck'),
  convert: (documents) => documents.map(convertRate),
}
