// Which databases an import reads, in which order, and what it makes of their documents. Months are read beside these.

import type { Declared } from '../../src/areas/area.ts'
import { typeNamesOf } from '../../src/events/events.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import { convertNotice } from '../conversions/brand.rules.ts'
import { converted } from '../conversions/findings.ts'
import { convertProvider, isProvider, orphanedCopies } from '../conversions/people.rules.ts'
import type { PeopleContext } from '../conversions/people-context.rules.ts'
import { keepOrList } from '../conversions/preserved.rules.ts'
import { convertRate } from '../conversions/pricing.rules.ts'
import { createDays } from '../conversions/service-usage.rules.ts'
import { convertServices } from '../conversions/services.rules.ts'
import { convertSettings } from '../conversions/settings.rules.ts'
import {
  convertAlert,
  convertTask,
  convertWebhook,
  type OwnerContext,
} from '../conversions/shared-databases.rules.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone, textIn } from '../documents/fields.ts'
import { createAccountChapter } from './accounts.ts'
import { type Chapter, databasesOf, type Facts, isOfOthers, kindOf, systemDatabase } from './chapter.ts'
import { createNumberChapters, type UsesHere } from './numbers.ts'

const isNotice = ({ type }: KazooDocument) => type === 'notification'

/**
 * The settings documents. Notices of the system speak of the company and the pages that were there: they come along only
 * where somebody says so.
 */
const createSettingsChapter = ({ notices }: Pick<PeopleContext, 'notices'>): Chapter => ({
  name: 'settings',
  reads: 'whole',
  databases: (facts) => systemDatabase(facts, 'system_config'),
  convert(documents, { facts }) {
    const worded = documents.filter(isNotice)
    return [
      ...convertSettings(
        documents.filter((one) => !isNotice(one)),
        systemScope,
      ),
      ...worded.map((document) =>
        isGone(document.fields) || !facts.withSystemNotices
          ? converted(document, 'skipped')
          : convertNotice(document, { accountId: systemScope, notices }),
      ),
    ]
  },
})

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

const alertsChapter = oneDatabase('alerts', (document, facts) =>
  convertAlert(document, { ...ownersIn(facts), now: facts.now }),
)

const tasksChapter = oneDatabase('tasks', (document, facts) => convertTask(document, ownersIn(facts)))

const createWebhooksChapter = (typeNames: ReadonlySet<string>) =>
  oneDatabase('webhooks', (document, facts) => convertWebhook(document, { ...ownersIn(facts), typeNames }))

const addressesChapter = oneDatabase('dedicated_ips', (document, facts) =>
  keepOrList(document, keptBy(document, facts)),
)

/** Who provides second factors to everybody; of what else is there nothing is taken. */
const authChapter = oneDatabase('system_auth', (document) =>
  isProvider(document) && !isGone(document.fields)
    ? convertProvider(document, { accountId: systemScope })
    : keepOrList(document, systemScope),
)

/** Copies of phones, for looking them up: only those that nobody has are of interest. */
const phoneCopiesChapter = oneDatabase('sip_auth', (document, { accounts }) => {
  // They are not told among the phones.
  const copy = { ...document, type: 'sip_auth' }
  const findings = isGone(document.fields) ? [] : orphanedCopies([document], accounts)
  return converted(copy, 'skipped', { findings })
})

const ratesChapter: Chapter = {
  name: 'rates',
  reads: 'pages',
  databases: (facts) => databasesOf(facts, 'ratedeck'),
  convert: (documents) => documents.map(convertRate),
}

/** What accounts are sold, by what their records of it say. */
const servicesChapter: Chapter = {
  name: 'services',
  reads: 'pages',
  databases: (facts) => systemDatabase(facts, 'services'),
  convert: (documents, { facts: { accounts, plans } }) =>
    documents.map((document) => convertServices(document, { accounts, plans })),
}

const firstYearOf = ({ sinceMonth = 0 }: Pick<Facts, 'sinceMonth'>) => Math.floor(sinceMonth / 100)

/** Of what moved documents have no type. */
const isOfDay = ({ type, fields }: KazooDocument) => type === '' && !isGone(fields)

/** How a year's days are remembered together: several documents may tell of one. */
const daysDocument = (database: string): KazooDocument => ({
  database,
  id: '(days)',
  rev: undefined,
  text: '',
  conflicts: [],
  fields: {},
  type: 'service_day',
})

// What moved of what accounts have, by the day: databases of years, which only newer systems have.
const yearsChapter: Chapter = {
  name: 'years',
  reads: 'whole',
  databases: (facts) =>
    [...facts.kinds].flatMap(([name, kind]) =>
      kind.kind === 'year' && Number(kind.year) >= firstYearOf(facts) && facts.accounts.has(kind.accountId)
        ? [name]
        : [],
    ),
  convert(documents, place): Converted[] {
    const kind = kindOf(place)
    const accountId = kind.kind === 'year' ? kind.accountId : ''
    const days = createDays()
    const told = documents.map((document) => {
      if (!isOfDay(document)) return keepOrList(document, accountId)
      days.add(document)
      return converted(document, 'imported')
    })
    const drafts = days.drafts(accountId)
    return drafts.length === 0
      ? told
      : [...told, converted(daysDocument(place.database), 'imported', { drafts })]
  },
}

/** The settings of the system, which months obey, and all other chapters in the order in which they are read. */
export const createChapters = (
  declared: Pick<Declared, 'notices' | 'accountSettings' | 'kinds' | 'events'>,
  usesHere: UsesHere,
): { settings: Chapter; chapters: readonly Chapter[] } => {
  const accountSettings = new Set(Object.keys(declared.accountSettings))
  const { pools, numbers, ports } = createNumberChapters(usesHere)
  return {
    settings: createSettingsChapter(declared),
    chapters: [
      authChapter,
      createAccountChapter({ notices: declared.notices, accountSettings }),
      pools,
      numbers,
      ports,
      servicesChapter,
      ratesChapter,
      alertsChapter,
      tasksChapter,
      createWebhooksChapter(typeNamesOf(declared)),
      addressesChapter,
      phoneCopiesChapter,
      yearsChapter,
    ],
  }
}
