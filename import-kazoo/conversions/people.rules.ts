import { userReadOnly } from '../../src/areas/accounts/users/schema.ts'
import { appIdForm, maxBlacklisted, maxUsers } from '../../src/areas/brand/apps-store/schema.ts'
import { isDigest } from '../../src/auth/credentials.ts'
import { isId } from '../../src/lib/ids.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { authModuleNames } from '../../src/settings/auth-modules.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import {
  attachmentsOf,
  fileAs,
  inOrderOfAge,
  isFilled,
  isGone,
  listIn,
  outsideFilesIn,
  publicPart,
  textIn,
} from '../documents/fields.ts'
import { type ExportedDocument, type ExportedFile, exported, type OwnRecord } from '../export/document.ts'
import { convertBrand, convertNotice, convertSender, isSenderAddress } from './brand.rules.ts'
import { convertDevice, tidyDevice } from './devices.rules.ts'
import {
  type Conversion,
  conversionOf,
  converted,
  finding,
  type Notes,
  nameFrom,
  notesOf,
  unconverted,
} from './findings.ts'
import { convertPacketLimits, latestLimits } from './packet-limits.rules.ts'
import type { People, PeopleContext, SharedName } from './people-context.rules.ts'
import { createNames, providerKey, sharedNamesOf } from './people-context.rules.ts'
import { fieldOf, integer, objectIn, readFields, writeFields } from './tables.ts'

const notTaken = [...userReadOnly, 'password', 'credentials', 'sync', 'username', 'enabled']
const photoName = 'photo'

const userFields = [integer('passwordChanged', 'pvt_password_timestamp')]

/** Clients hash the name as it was when the password was set, so digests are taken as they are. */
const digest = (method: 'md5' | 'sha') =>
  fieldOf((fields, key) => {
    const found = textIn(fields, key)?.toLowerCase()
    return found !== undefined && isDigest(method, found) ? found : undefined
  })

const digestFields = [digest('md5')('md5', 'pvt_md5_auth'), digest('sha')('sha', 'pvt_sha1_auth')]

const withFreeHotdesk = (doc: Json, { hold }: People, { needsHand }: Notes): Json => {
  const { id, ...others } = objectIn(doc, 'hotdesk') ?? {}
  const written = typeof id === 'number' || typeof id === 'string' ? String(id) : ''
  if (written === '' || hold('hotdesk', written)) return doc
  needsHand('hotdesk_id_taken', { field: 'hotdesk.id', old: written })
  return { ...doc, hotdesk: others }
}

/** Digests are never shown. */
const convertUser = (document: KazooDocument, people: People): Converted => {
  const { fields } = document
  const notes = notesOf(document)
  const { needsHand, leftOut } = notes
  const stored = textIn(fields, 'username')
  const personalName = (field: string) =>
    nameFrom(textIn(fields, field), stored ?? 'unnamed', notes, () => ({ field }))
  const names = { first_name: personalName('first_name'), last_name: personalName('last_name') }
  const username = stored?.toLowerCase()
  const isFree = username !== undefined && people.hold('username', username)
  if (username !== undefined && !isFree) needsHand('username_taken', { field: 'username', old: stored })
  const doc = withFreeHotdesk(publicPart(fields, notTaken), people, notes)
  const digests = username === undefined || isFree ? readFields(digestFields, fields, notes) : {}
  if (isFree && digests.sha === undefined) {
    if (digests.md5 === undefined) needsHand('password_missing')
    else leftOut('sha_digest_missing')
  }
  // Kazoo rejects users whose record does not enable them.
  if (fields.enabled === undefined) needsHand('user_not_enabled', { field: 'enabled', new: 'false' })
  for (const field of outsideFilesIn(fields)) needsHand('file_outside', { field })
  const photo = attachmentsOf(document).find(({ name }) => name === photoName)
  return notes.imported('user', people.accountId, {
    doc: { ...doc, ...names, ...(isFree ? { username } : {}), enabled: isTrue(fields.enabled) },
    facts: {
      ...(isFilled(digests) ? { digests } : {}),
      ...readFields(userFields, fields, notes),
    },
    files: photo ? [fileAs(photoName, photo)] : [],
  })
}

/** Passwords cannot be exported: users must choose a new one. */
export const exportUser = (record: OwnRecord, photo: ExportedFile | undefined): ExportedDocument[] => [
  exported('user', record, {
    more: {
      enabled: record.doc.enabled !== false,
      require_password_update: true,
      ...writeFields(userFields, record.hidden),
    },
    files: photo ? [{ ...photo, name: photoName }] : [],
  }),
]

/** Has a password here that cannot be exported. */
export const isWithoutPassword = ({ signInKeys }: Json) => listIn(signInKeys).length > 0

const configPrefix = 'configs_'
const signIn = 'crossbar.auth'

/** Removes a second factor that no machine could provide; one with a missing provider stays. */
const moduleOf = (
  name: string,
  module: Json,
  { accountId, providers, needsHand }: Conversion<PeopleContext>,
): Json => {
  const { multi_factor: factor, ...others } = module
  if (!isObject(factor) || !isTrue(factor.enabled)) return module
  const field = `auth_modules.${name}.multi_factor`
  // No prompt is possible when a machine signs in.
  if (name === 'cb_api_auth') {
    needsHand('factor_of_key', { field })
    return others
  }
  const id = textIn(factor, 'configuration_id')
  const holder = textIn(factor, 'account_id') ?? accountId
  if (id !== undefined && !providers.has(providerKey(holder, id)))
    needsHand('factor_provider_missing', { field, old: id })
  return module
}

const convertSignIn = (document: KazooDocument, context: PeopleContext): Converted => {
  const doc = publicPart(document.fields, ['id'])
  const conversion = conversionOf(document, context)
  const modules: Json = {}
  for (const [name, module] of Object.entries(objectIn(doc, 'auth_modules') ?? {})) {
    if (isObject(module) && authModuleNames.some((one) => one === name))
      modules[name] = moduleOf(name, module, conversion)
    else conversion.leftOut('auth_module_unknown', { field: `auth_modules.${name}` })
  }
  return conversion.imported('security', context.accountId, { doc: { ...doc, auth_modules: modules } })
}

/** Overrides of system settings. */
const convertConfig = (document: KazooDocument, context: PeopleContext): Converted => {
  const name = document.id.startsWith(configPrefix) ? document.id.slice(configPrefix.length) : ''
  if (name === signIn) return convertSignIn(document, context)
  if (!context.accountSettings.has(name))
    return unconverted(document, 'kept', 'left_out', 'config_unknown', { old: name.slice(0, 128) })
  const doc = publicPart(document.fields, ['id'])
  return notesOf(document).imported('account_config', context.accountId, { doc })
}

const knownProviders = ['duo', 'otp']
export const providerType = 'multi_factor'

export const isProvider = ({ type, fields }: KazooDocument) =>
  type === 'provider' && textIn(fields, 'pvt_provider_type') === providerType

/**
 * Duo is not available here: accounts that require it keep requiring it, so no user signs in until the operator
 * changes it. Its keys are not read.
 */
export const convertProvider = (
  document: KazooDocument,
  { accountId }: Pick<PeopleContext, 'accountId'>,
): Converted => {
  const { fields } = document
  const provider = (textIn(fields, 'provider_name') ?? textIn(fields, 'name') ?? '').slice(0, 128)
  if (!knownProviders.includes(provider))
    return unconverted(document, 'kept', 'needs_hand', 'factor_provider_unknown', { old: provider })
  const { needsHand, imported } = notesOf(document)
  const isDuo = provider === 'duo'
  const settings = isDuo ? undefined : objectIn(fields, 'settings')
  const name = (textIn(fields, 'name') ?? provider).slice(0, 128)
  if (isDuo) needsHand('duo_not_available', { old: name })
  const doc = { name, provider_name: provider, enabled: isTrue(fields.enabled), ...present({ settings }) }
  return imported('multi_factor', accountId, { doc })
}

const convertRestrictions = (document: KazooDocument, { accountId }: PeopleContext): Converted => {
  const restrictions = objectIn(document.fields, 'restrictions')
  return restrictions
    ? notesOf(document).imported('token_restrictions', accountId, { id: accountId, doc: { restrictions } })
    : unconverted(document, 'rejected', 'needs_hand', 'restrictions_missing', { field: 'restrictions' })
}

const appId = new RegExp(appIdForm)
const audiences: readonly unknown[] = ['all', 'admins', 'specific']

const isAppId = (value: unknown): value is string => typeof value === 'string' && appId.test(value)

const installedOf = (app: unknown, users: ReadonlySet<string>): Json => {
  const { allowed_users: allowed = 'all', users: listed } = isObject(app) ? app : {}
  const ids = listIn(listed).map((user) => (isObject(user) ? user.id : user))
  const known = new Set(ids.filter((id) => typeof id === 'string' && isId(id) && users.has(id)))
  return {
    allowed_users: audiences.includes(allowed) ? allowed : 'all',
    users: allowed === 'specific' ? Array.from(known, (id) => ({ id })).slice(0, maxUsers) : [],
  }
}

/** Operators name apps themselves here, so an app is known by its old id and by its name. */
const convertApps = (document: KazooDocument, { accountId, users }: People): Converted => {
  const { fields } = document
  const { leftOut, imported } = notesOf(document)
  const installed = Object.entries(objectIn(fields, 'apps') ?? {})
  const apps = installed.flatMap(([id, app]) =>
    [id, textIn(app, 'name')].filter(isAppId).map((key) => [key, installedOf(app, users)] as const),
  )
  const listed = listIn(fields.blacklist)
  const blacklist = [...new Set(listed.filter(isAppId))].slice(0, maxBlacklisted)
  for (const id of [...installed.map(([app]) => app), ...listed].filter((one) => !isAppId(one)))
    leftOut('app_unreadable', { field: 'apps', old: String(id).slice(0, 64) })
  const doc = { apps: Object.fromEntries(apps), uninstalled: [], blacklist, imposed: [] }
  return imported('apps_store', accountId, { id: accountId, doc })
}

type Convert = (document: KazooDocument, people: People) => Converted

// These exist only in their system.
const skip: Convert = (document) => converted(document, 'skipped')

const conversions: Readonly<Record<string, Convert>> = {
  user: convertUser,
  device: convertDevice,
  whitelabel: convertBrand,
  notification: convertNotice,
  rate_limits: convertPacketLimits,
  account_config: convertConfig,
  token_restrictions: convertRestrictions,
  apps_store: convertApps,
  login_attempt: skip,
  password_reset: skip,
}

export const isOfPeople = (document: KazooDocument) =>
  Object.hasOwn(conversions, document.type) || isProvider(document) || isSenderAddress(document)

const storedRealmIn = (documents: readonly KazooDocument[], accountId: string) =>
  textIn(documents.find(({ id, type }) => id === accountId && type === 'account')?.fields, 'realm')

const ofType = (documents: readonly KazooDocument[], type: string) =>
  documents.filter((document) => document.type === type && !isGone(document.fields))

export const idsOf = (documents: readonly KazooDocument[], type: string) =>
  new Set(ofType(documents, type).map(({ id }) => id))

/** Names of an account's documents that only one account may have. */
export const sharedNamesIn = (
  documents: readonly KazooDocument[],
  { accountId, realm }: Pick<PeopleContext, 'accountId' | 'realm'>,
): SharedName[] => {
  const storedRealm = storedRealmIn(documents, accountId)
  const docOf = (document: KazooDocument) =>
    document.type === 'device' ? tidyDevice(conversionOf(document, { realm, storedRealm })) : document.fields
  return [...ofType(documents, 'device'), ...ofType(documents, 'whitelabel')].flatMap((document) =>
    sharedNamesOf(document, docOf(document), accountId),
  )
}

/**
 * Needs all documents of the account's database, because names and owners are compared; returns those that
 * `isOfPeople`.
 */
export const convertPeople = (
  documents: readonly KazooDocument[],
  context: PeopleContext,
): readonly Converted[] => {
  const people: People = {
    ...context,
    hold: createNames(),
    devices: idsOf(documents, 'device'),
    users: idsOf(documents, 'user'),
    packetLimits: latestLimits(ofType(documents, 'rate_limits')),
    storedRealm: storedRealmIn(documents, context.accountId),
  }
  const convert = (document: KazooDocument) => {
    const { type, fields } = document
    if (isGone(fields)) return skip(document, people)
    if (isProvider(document)) return convertProvider(document, context)
    const conversion = Object.hasOwn(conversions, type) ? conversions[type] : undefined
    return (conversion ?? convertSender)(document, people)
  }
  return inOrderOfAge(documents.filter(isOfPeople)).map(convert)
}

/** Reports copies of devices whose accounts are missing. */
export const orphanedCopies = (
  documents: readonly KazooDocument[],
  accounts: { has(accountId: string): boolean },
): readonly Finding[] =>
  documents.flatMap((document) => {
    const owner = textIn(document.fields, 'pvt_account_id') ?? ''
    if (accounts.has(owner)) return []
    return [finding(document, 'left_out', 'copy_orphaned', { field: 'pvt_account_id', old: owner })]
  })
