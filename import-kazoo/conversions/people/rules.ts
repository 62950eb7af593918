import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { isGone, textIn } from '../../documents/fields.ts'
import { converted, finding, notesOf } from '../findings.ts'
import { convertApps } from './apps.ts'
import { convertBrand, convertSender, isSenderAddress } from './brand.ts'
import { createNames, type HoldName, inOrderOfAge, type PeopleContext } from './context.ts'
import { convertDevice, type DeviceNeighbours, tidyDevice } from './devices.ts'
import { convertNotice } from './notices.ts'
import { convertLimits, deviceLimitsIn, latestLimits } from './packet-limits.ts'
import { convertConfig, convertProvider, convertRestrictions, isProvider } from './security.ts'
import { type SharedName, sharedNamesOf } from './shared-names.ts'
import { convertUser } from './users.ts'

/** What an account's documents of people are converted with. */
interface People extends DeviceNeighbours {
  context: PeopleContext
  hold: HoldName
  devices: ReadonlySet<string>
  /** Documents of packet limits, by their owner: see `latestLimits`. */
  latest: ReadonlyMap<string, KazooDocument>
}

type Convert = (document: KazooDocument, people: People) => Converted

// Of these nothing is taken: they end with the system that they are of.
const skip: Convert = (document) => converted(document, 'skipped')

/** How documents are converted, by their type. */
const conversions: Readonly<Record<string, Convert>> = {
  user: (document, { context, hold }) => convertUser(document, context, hold),
  device: (document, people) => convertDevice(document, people.context, people, people.hold),
  whitelabel: (document, { context }) => convertBrand(document, context),
  notification: (document, { context }) => convertNotice(document, context),
  rate_limits: (document, { context: { accountId }, devices, latest }) =>
    convertLimits(document, { accountId, devices }, latest),
  account_config: (document, { context }) => convertConfig(document, context),
  token_restrictions: (document, { context }) => convertRestrictions(document, context),
  apps_store: (document, { context: { accountId }, users }) => convertApps(document, { accountId, users }),
  login_attempt: skip,
  password_reset: skip,
}

/** Whether a document of an account's database is converted here. */
export const isOfPeople = (document: KazooDocument) =>
  Object.hasOwn(conversions, document.type) || isProvider(document) || isSenderAddress(document)

/** The realm of the account as it is stored there, told by its document among those of the database. */
const storedRealmIn = (documents: readonly KazooDocument[], accountId: string) => {
  const account = documents.find(({ id, type }) => id === accountId && type === 'account')
  return account && textIn(account.fields, 'realm')
}

const present = (documents: readonly KazooDocument[], type: string) =>
  documents.filter((document) => document.type === type && !isGone(document.fields))

const idsOf = (documents: readonly KazooDocument[]) => new Set(documents.map(({ id }) => id))

/** The names that only one account may have, of all that stands in one account's database. */
export const sharedNamesIn = (
  documents: readonly KazooDocument[],
  { accountId, realm }: Pick<PeopleContext, 'accountId' | 'realm'>,
): SharedName[] => {
  const storedRealm = storedRealmIn(documents, accountId)
  return [...present(documents, 'device'), ...present(documents, 'whitelabel')].flatMap((document) => {
    const isDevice = document.type === 'device'
    const doc = isDevice ? tidyDevice(document, [realm, storedRealm], notesOf(document)) : document.fields
    return sharedNamesOf(document, doc, accountId)
  })
}

/**
 * What becomes of an account's people, phones, brand, notices and rules of signing in. All documents of its database are
 * given, because who is called what, and whose something is, is judged among them; those that `isOfPeople` are answered.
 */
export const convertPeople = (
  documents: readonly KazooDocument[],
  context: PeopleContext,
): readonly Converted[] => {
  const latest = latestLimits(present(documents, 'rate_limits'))
  const people: People = {
    context,
    hold: createNames(),
    devices: idsOf(present(documents, 'device')),
    users: idsOf(present(documents, 'user')),
    latest,
    limits: new Map(Array.from(latest, ([owner, document]) => [owner, deviceLimitsIn(document)])),
    storedRealm: storedRealmIn(documents, context.accountId),
  }
  const convert = (document: KazooDocument) => {
    if (isGone(document.fields)) return skip(document, people)
    if (isProvider(document)) return convertProvider(document, context)
    const { type } = document
    const conversion = Object.hasOwn(conversions, type) ? conversions[type] : undefined
    return conversion ? conversion(document, people) : convertSender(document, context, people.hold)
  }
  return inOrderOfAge(documents.filter(isOfPeople)).map(convert)
}

/** Copies of devices for looking them up whose accounts are not there: nothing is made of them, and they are told of. */
export const orphanedCopies = (
  documents: readonly KazooDocument[],
  accounts: { has(accountId: string): boolean },
): readonly Finding[] =>
  documents.flatMap((document) => {
    const owner = textIn(document.fields, 'pvt_account_id') ?? ''
    if (accounts.has(owner)) return []
    return [finding(document, 'left_out', 'copy_orphaned', { field: 'pvt_account_id', old: owner })]
  })
