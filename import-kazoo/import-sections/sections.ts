import type { Declared } from '../../src/areas/area.ts'
import { typeNamesOf } from '../../src/events/events.ts'
import { oncePer } from '../../src/lib/once-per.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import { isAccountDocument } from '../conversions/accounts.rules.ts'
import { convertNotice } from '../conversions/brand.rules.ts'
import { convertCalls, isAboutCalls } from '../conversions/call-routing.rules.ts'
import { converted } from '../conversions/findings.ts'
import { convertLimits } from '../conversions/limits.rules.ts'
import {
  convertPoolEntry,
  convertPortRequest,
  createUses,
  poolsIn,
  portsIn,
} from '../conversions/number-sources.rules.ts'
import type { PortedNumber, Use } from '../conversions/numbers.rules.ts'
import {
  convertCopy,
  convertNumber,
  type NumberContext,
  numberOf,
  shardOf,
} from '../conversions/numbers.rules.ts'
import {
  convertPeople,
  convertProvider,
  isOfPeople,
  isProvider,
  orphanedCopies,
} from '../conversions/people.rules.ts'
import type { PeopleContext } from '../conversions/people-context.rules.ts'
import { preserveOrCount } from '../conversions/preserved.rules.ts'
import { convertPlan, convertRate } from '../conversions/pricing.rules.ts'
import { createDays } from '../conversions/service-usage.rules.ts'
import { convertServices } from '../conversions/services.rules.ts'
import { convertSettings } from '../conversions/settings.rules.ts'
import { convertAlert, convertTask, convertWebhook } from '../conversions/shared-databases.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone, textIn } from '../documents/fields.ts'
import { systemDocuments } from './gathering.ts'
import {
  accountIn,
  databasesOf,
  emptyDocument,
  type Facts,
  type ImportSection,
  isOfOthers,
  systemDatabase,
} from './section.ts'

type PeopleVocabulary = Pick<PeopleContext, 'notices' | 'accountSettings'>

/** A document belongs to the first part that matches. */
const partOf = (document: KazooDocument) => {
  const { type } = document
  if (isAccountDocument(document)) return 'account'
  if (type === 'service_plan') return 'plans'
  if (type === 'limits') return 'limits'
  if (type === 'number') return 'numbers'
  if (isOfPeople(document)) return 'people'
  return isAboutCalls(type) ? 'calls' : 'others'
}

const nothingLeads = { of: () => [] }

/** A number's own database takes precedence over copies. */
const convertNumberCopy = (document: KazooDocument, accountId: string, facts: Facts): Converted => {
  const number = numberOf(document.id)
  if (number === undefined || facts.kinds.has(shardOf(number))) return converted(document, 'skipped')
  const { uses = nothingLeads } = facts
  return convertCopy(document, accountId, { ...facts, uses, ports: new Map(), pools: new Map() })
}

const createAccountSection = (vocabulary: PeopleVocabulary): ImportSection => ({
  name: 'account documents',
  reads: 'whole',
  // Ancestors first: descendants are counted there.
  databases: ({ accounts, kinds }) =>
    [...accounts.keys()].map(accountDatabase).filter((database) => kinds.has(database)),

  convert(documents, place) {
    const { facts } = place
    const accountId = accountIn(place)
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
      ...of('others').map((document) => preserveOrCount(document, accountId)),
    ]
  },
})

type Convert = (document: KazooDocument, facts: Facts) => Converted | Promise<Converted>

const perDocument = (
  name: string,
  databases: ImportSection['databases'],
  convert: Convert,
): ImportSection => ({
  ...{ name, reads: 'pages', databases },
  convert: (documents, { facts }) => Promise.all(documents.map((document) => convert(document, facts))),
})

/** Skips documents of accounts outside the scope. */
const ofScope =
  (convert: Convert): Convert =>
  (document, facts) =>
    isOfOthers(facts, textIn(document.fields, 'pvt_account_id'))
      ? converted(document, 'skipped')
      : convert(document, facts)

const oneDatabase = (name: string, convert: Convert): ImportSection =>
  perDocument(name, (facts) => systemDatabase(facts, name), ofScope(convert))

interface UsesHere {
  of(accountId: string, number: string): Promise<readonly Use[]>
}

// Pools and ports first: numbers depend on them.

type Surroundings = Pick<NumberContext, 'ports' | 'pools'>

const readSurroundings = async (facts: Facts): Promise<Surroundings> => {
  const ports = new Map<string, PortedNumber>()
  const pools = new Map<string, string>()
  for await (const document of systemDocuments(facts, 'port_requests'))
    for (const [number, port] of portsIn(document, facts)) ports.set(number, port)
  for (const name of databasesOf(facts, 'pool'))
    for await (const document of systemDocuments(facts, name))
      for (const [number, accountId] of poolsIn(document, facts)) pools.set(number, accountId)
  return { ports, pools }
}

/** With a narrowed scope, unowned numbers stay in the other system. */
const isLeftToOthers = ({ fields }: KazooDocument, { only, accounts }: Facts) =>
  only.length > 0 && !accounts.has(textIn(fields, 'pvt_assigned_to') ?? '')

const createNumberSections = (usesHere: UsesHere): ImportSection[] => {
  // Read once for each look at the source.
  const surroundingsOf = oncePer(readSurroundings)

  const usesOf = async (documents: readonly KazooDocument[]) => {
    const uses = createUses()
    for (const { id, fields } of documents) {
      const [number, accountId] = [numberOf(id), textIn(fields, 'pvt_assigned_to')]
      if (number === undefined || accountId === undefined) continue
      for (const use of await usesHere.of(accountId, number)) uses.add(accountId, [[number, use]])
    }
    return uses
  }

  const contextOf = async (facts: Facts, uses: NumberContext['uses']): Promise<NumberContext> => ({
    ...facts,
    uses,
    ...(await surroundingsOf(facts)),
  })

  return [
    // Pools stay with the other system.
    perDocument(
      'pools',
      (facts) => (facts.only.length > 0 ? [] : databasesOf(facts, 'pool')),
      (document, facts) => {
        const kind = facts.kinds.get(document.database)
        return convertPoolEntry(document, kind?.kind === 'pool' ? kind.pool : 'managed', facts)
      },
    ),
    {
      name: 'numbers',
      reads: 'pages',
      dependsOnOthers: true,
      databases: (facts) => databasesOf(facts, 'numbers'),
      async convert(documents, { facts }) {
        const context = await contextOf(facts, facts.uses ?? (await usesOf(documents)))
        return documents.map((document) =>
          isLeftToOthers(document, facts) ? converted(document, 'skipped') : convertNumber(document, context),
        )
      },
    },
    oneDatabase('port_requests', async (document, facts) =>
      convertPortRequest(document, await contextOf(facts, nothingLeads)),
    ),
  ]
}

const isNotice = ({ type }: KazooDocument) => type === 'notification'

/** System notices name the old company, so they are imported only on request. */
const createSettingsSection = ({ notices }: Pick<PeopleContext, 'notices'>): ImportSection => ({
  name: 'settings',
  reads: 'whole',
  databases: (facts) => systemDatabase(facts, 'system_config'),
  convert(documents, { facts }) {
    const [worded, others] = [documents.filter(isNotice), documents.filter((one) => !isNotice(one))]
    return [
      ...convertSettings(others, systemScope),
      ...worded.map((document) =>
        isGone(document.fields) || !facts.withSystemNotices
          ? converted(document, 'skipped')
          : convertNotice(document, { accountId: systemScope, notices }),
      ),
    ]
  },
})

/** The owner of a preserved document. */
const keptBy = (document: KazooDocument, { accounts }: Facts) => {
  const owner = textIn(document.fields, 'pvt_account_id')
  return owner !== undefined && accounts.has(owner) ? owner : systemScope
}

/** Only providers of second factors are imported. */
const convertAuth: Convert = (document) =>
  isProvider(document) && !isGone(document.fields)
    ? convertProvider(document, { accountId: systemScope })
    : preserveOrCount(document, systemScope)

/** Copies of phones: only those without an account are reported. */
const convertPhoneCopy: Convert = (document, { accounts }) => {
  const findings = isGone(document.fields) ? [] : orphanedCopies([document], accounts)
  // Counted separately from phones.
  return converted({ ...document, type: 'sip_auth' }, 'skipped', { findings })
}

const firstYearOf = ({ sinceMonth = 0 }: Pick<Facts, 'sinceMonth'>) => Math.floor(sinceMonth / 100)

/** Documents of days have no type. */
const isOfDay = ({ type, fields }: KazooDocument) => type === '' && !isGone(fields)

// Databases of years exist only in newer systems.
const yearsSection: ImportSection = {
  name: 'years',
  reads: 'whole',
  databases: (facts) =>
    [...facts.kinds].flatMap(([name, kind]) =>
      kind.kind === 'year' && Number(kind.year) >= firstYearOf(facts) && facts.accounts.has(kind.accountId)
        ? [name]
        : [],
    ),
  convert(documents, place): Converted[] {
    const accountId = accountIn(place)
    const days = createDays()
    const results = documents.map((document) => {
      if (!isOfDay(document)) return preserveOrCount(document, accountId)
      days.add(document)
      return converted(document, 'imported')
    })
    const drafts = days.drafts(accountId)
    // One row for all days of a year: several documents may be about one day.
    const row = emptyDocument(place.database, '(days)', 'service_day')
    if (drafts.length > 0) results.push(converted(row, 'imported', { drafts }))
    return results
  },
}

export const createImportSections = (
  declared: Pick<Declared, 'notices' | 'accountSettings' | 'kinds' | 'events'>,
  usesHere: UsesHere,
): { settings: ImportSection; chapters: readonly ImportSection[] } => {
  const accountSettings = new Set(Object.keys(declared.accountSettings))
  const typeNames = typeNamesOf(declared)
  return {
    settings: createSettingsSection(declared),
    chapters: [
      oneDatabase('system_auth', convertAuth),
      createAccountSection({ notices: declared.notices, accountSettings }),
      ...createNumberSections(usesHere),
      perDocument('services', (facts) => systemDatabase(facts, 'services'), convertServices),
      perDocument('rates', (facts) => databasesOf(facts, 'ratedeck'), convertRate),
      oneDatabase('alerts', convertAlert),
      oneDatabase('tasks', convertTask),
      oneDatabase('webhooks', (document, facts) => convertWebhook(document, { ...facts, typeNames })),
      oneDatabase('dedicated_ips', (document, facts) => preserveOrCount(document, keptBy(document, facts))),
      oneDatabase('sip_auth', convertPhoneCopy),
      yearsSection,
    ],
  }
}
