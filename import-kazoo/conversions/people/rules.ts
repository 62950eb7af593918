import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { isGone, textIn } from '../../documents/fields.ts'
import { converted, finding, notesOf } from '../findings.ts'
import { convertApps } from './apps.ts'
import { convertBrand, convertSender, isSenderAddress } from './brand.ts'
import { createNames, inOrderOfAge, type PeopleContext } from './context.ts'
import { convertDevice, tidyDevice } from './devices.ts'
import { convertNotice } from './notices.ts'
import { convertLimits, deviceLimitsIn, latestLimits } from './packet-limits.ts'
import { convertConfig, convertProvider, convertRestrictions, isProvider } from './security.ts'
import { type SharedName, sharedNamesOf } from './shared-names.ts'
import { convertUser } from './users.ts'

export type { PeopleContext } from './context.ts'
export { providerKey } from './context.ts'
export { convertNotice } from './notices.ts'
export { convertProvider, isProvider } from './security.ts'
export { lostNames, type SharedName } from './shared-names.ts'

const ownTypes: ReadonlySet<string> = new Set([
  'user',
  'device',
  'whitelabel',
  'notification',
  'rate_limits',
  'account_config',
  'token_restrictions',
  'apps_store',
  // Of these nothing is taken: they end with the system that they are of.
  'login_attempt',
  'password_reset',
])

/** Whether a document of an account's database is converted here. */
export const isOfPeople = (document: KazooDocument) =>
  ownTypes.has(document.type) || isProvider(document) || isSenderAddress(document)

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
  const { accountId } = context
  const hold = createNames()
  const limits = latestLimits(present(documents, 'rate_limits'))
  const devices = idsOf(present(documents, 'device'))
  const neighbours = {
    users: idsOf(present(documents, 'user')),
    limits: new Map(Array.from(limits, ([owner, document]) => [owner, deviceLimitsIn(document)])),
    storedRealm: storedRealmIn(documents, accountId),
  }

  const convert = (document: KazooDocument): Converted => {
    if (isGone(document.fields)) return converted(document, 'skipped')
    if (isProvider(document)) return convertProvider(document, context)
    switch (document.type) {
      case 'user':
        return convertUser(document, context, hold)
      case 'device':
        return convertDevice(document, context, neighbours, hold)
      case 'whitelabel':
        return convertBrand(document, context)
      case 'notification':
        return convertNotice(document, context)
      case 'rate_limits':
        return convertLimits(document, { accountId, devices }, limits)
      case 'account_config':
        return convertConfig(document, context)
      case 'token_restrictions':
        return convertRestrictions(document, context)
      case 'apps_store':
        return convertApps(document, { accountId, users: neighbours.users })
      case 'login_attempt':
      case 'password_reset':
        return converted(document, 'skipped')
      default:
        return convertSender(document, context, hold)
    }
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
