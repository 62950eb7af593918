import type { UserFacts } from '../../src/areas/accounts/users/adoption.ts'
import { userReadOnly } from '../../src/areas/accounts/users/schema.ts'
import { appIdForm, maxBlacklisted, maxUsers } from '../../src/areas/brand/apps-store/schema.ts'
import { isDigest } from '../../src/auth/credentials.ts'
import { isId } from '../../src/lib/ids.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { authModuleNames } from '../../src/settings/auth-modules.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, isGone, outsideFilesIn, publicPart, textIn } from '../documents/fields.ts'
import { type ExportedDocument, type ExportedFile, exported, type OwnRecord } from '../export/document.ts'
import { convertBrand, convertNotice, convertSender, isSenderAddress } from './brand.rules.ts'
import { convertDevice, tidyDevice } from './devices.rules.ts'
import { converted, finding, imported, type Notes, nameFrom, notesOf, unconverted } from './findings.ts'
import { convertPacketLimits, latestLimits } from './packet-limits.rules.ts'
import type { People, PeopleContext, SharedName } from './people-context.rules.ts'
import { createNames, inOrderOfAge, providerKey, sharedNamesOf } from './people-context.rules.ts'
import { integer, readFields, writeFields } from './tables.ts'

const notTaken = [...userReadOnly, 'password', 'credentials', 'sync', 'username', 'enabled']
const photoName = 'photo'

const userFields = [integer('passwordChanged', 'pvt_password_timestamp')]

const digestForms = [
  ['md5', 'pvt_md5_auth'],
  ['sha', 'pvt_sha1_auth'],
] as const

const digestsIn = (fields: Json): NonNullable<UserFacts['digests']> =>
  Object.fromEntries(
    digestForms.flatMap(([method, key]) => {
      const digest = textIn(fields, key)?.toLowerCase()
      return digest !== undefined && isDigest(method, digest) ? [[method, digest]] : []
    }),
  )

const writtenName = (value: unknown) =>
  typeof value === 'number' ? String(value) : typeof value === 'string' && value !== '' ? value : undefined

const withFreeHotdesk = (doc: Json, { hold }: People, { needsHand }: Notes): Json => {
  const { hotdesk } = doc
  const id = isObject(hotdesk) ? writtenName(hotdesk.id) : undefined
  if (!isObject(hotdesk) || id === undefined || hold('hotdesk', id)) return doc
  needsHand('hotdesk_id_taken', { field: 'hotdesk.id', old: id })
  const { id: _, ...others } = hotdesk
  return { ...doc, hotdesk: others }
}

/**
 * Clients hash the name as it was when the password was set, so digests are taken as they are, and are never
 * shown.
 */
const convertUser = (document: KazooDocument, people: People): Converted => {
  const { fields } = document
  const notes = notesOf(document)
  const { findings, needsHand, leftOut } = notes
  const stored = textIn(fields, 'username')
  const personalName = (field: string) =>
    nameFrom(textIn(fields, field), stored ?? 'unnamed', notes, () => ({ field }))
  const names = { first_name: personalName('first_name'), last_name: personalName('last_name') }
  const isFree = stored !== undefined && people.hold('username', stored.toLowerCase())
  if (stored !== undefined && !isFree) needsHand('username_taken', { field: 'username', old: stored })
  const username = isFree ? stored.toLowerCase() : undefined
  const doc = withFreeHotdesk(publicPart(fields, notTaken), people, notes)
  const digests = stored === undefined || isFree ? digestsIn(fields) : {}
  if (isFree && digests.sha === undefined) {
    if (digests.md5 === undefined) needsHand('password_missing')
    else leftOut('sha_digest_missing')
  }
  // Kazoo rejects users whose record does not enable them.
  if (fields.enabled === undefined) needsHand('user_not_enabled', { field: 'enabled', new: 'false' })
  for (const field of outsideFilesIn(fields)) needsHand('file_outside', { field })
  const photo = attachmentsOf(document).find(({ name }) => name === photoName)
  return imported(document, 'user', people.accountId, {
    doc: { ...doc, ...names, ...present({ username }), enabled: isTrue(fields.enabled) },
    facts: {
      ...(Object.keys(digests).length === 0 ? {} : { digests }),
      ...readFields(userFields, fields, notes),
    },
    files: photo ? [fileAs(photoName, photo)] : [],
    findings,
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
export const isWithoutPassword = ({ hidden }: OwnRecord) =>
  Array.isArray(hidden.signInKeys) && hidden.signInKeys.length > 0

const configPrefix = 'configs_'
const signIn = 'crossbar.auth'

/** Removes a second factor that no machine could provide; one with a missing provider stays. */
const moduleOf = (
  name: string,
  module: Json,
  { accountId, providers }: PeopleContext,
  { needsHand }: Notes,
): Json => {
  const { multi_factor: factor, ...others } = module
  if (!isObject(factor) || !isTrue(factor.enabled)) return module
  const field = `auth_modules.${name}.multi_factor`
  // Nobody can be asked when a machine signs in.
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
  const notes = notesOf(document)
  const modules: Json = {}
  for (const [name, module] of Object.entries(isObject(doc.auth_modules) ? doc.auth_modules : {})) {
    if (isObject(module) && authModuleNames.some((one) => one === name))
      modules[name] = moduleOf(name, module, context, notes)
    else notes.leftOut('auth_module_unknown', { field: `auth_modules.${name}` })
  }
  const { findings } = notes
  return imported(document, 'security', context.accountId, {
    doc: { ...doc, auth_modules: modules },
    findings,
  })
}

/** Overrides of system settings. */
const convertConfig = (document: KazooDocument, context: PeopleContext): Converted => {
  const name = document.id.startsWith(configPrefix) ? document.id.slice(configPrefix.length) : ''
  if (name === signIn) return convertSignIn(document, context)
  if (!context.accountSettings.has(name))
    return unconverted(document, 'kept', 'left_out', 'config_unknown', { old: name.slice(0, 128) })
  return imported(document, 'account_config', context.accountId, { doc: publicPart(document.fields, ['id']) })
}

const knownProviders = ['duo', 'otp']
const providerType = 'multi_factor'

export const isProvider = ({ type, fields }: KazooDocument) =>
  type === 'provider' && textIn(fields, 'pvt_provider_type') === providerType

/**
 * Duo is not available here: accounts that require it keep requiring it, so nobody signs in until the
 * operator changes it. Its keys are not read.
 */
export const convertProvider = (
  document: KazooDocument,
  { accountId }: Pick<PeopleContext, 'accountId'>,
): Converted => {
  const { fields } = document
  const provider = textIn(fields, 'provider_name') ?? textIn(fields, 'name') ?? ''
  if (!knownProviders.includes(provider))
    return unconverted(document, 'kept', 'needs_hand', 'factor_provider_unknown', {
      old: provider.slice(0, 128),
    })
  const isDuo = provider === 'duo'
  const settings = isObject(fields.settings) && !isDuo ? { settings: fields.settings } : {}
  const name = (textIn(fields, 'name') ?? provider).slice(0, 128)
  return imported(document, 'multi_factor', accountId, {
    doc: { name, provider_name: provider, enabled: isTrue(fields.enabled), ...settings },
    findings: isDuo ? [finding(document, 'needs_hand', 'duo_not_available', { old: name })] : [],
  })
}

export const exportProvider = (record: OwnRecord): ExportedDocument[] => [
  exported('provider', record, { more: { pvt_provider_type: providerType } }),
]

const convertRestrictions = (document: KazooDocument, { accountId }: PeopleContext): Converted => {
  const { restrictions } = document.fields
  if (!isObject(restrictions))
    return unconverted(document, 'rejected', 'needs_hand', 'restrictions_missing', { field: 'restrictions' })
  return imported(document, 'token_restrictions', accountId, { id: accountId, doc: { restrictions } })
}

export const exportRestrictions = (record: OwnRecord): ExportedDocument[] => [
  exported('token_restrictions', record, { id: 'token_restrictions' }),
]

const appId = new RegExp(appIdForm)
const audiences: readonly unknown[] = ['all', 'admins', 'specific']

const isAppId = (value: unknown): value is string => typeof value === 'string' && appId.test(value)

const usersOf = ({ users: listed }: Json, users: ReadonlySet<string>) => {
  const ids = (Array.isArray(listed) ? listed : []).map((user) => (isObject(user) ? user.id : user))
  const known = ids.filter((id) => isId(id) && users.has(id))
  return [...new Set(known)].slice(0, maxUsers).map((id) => ({ id }))
}

const installedOf = (app: unknown, users: ReadonlySet<string>): Json => {
  const said = isObject(app) ? app : {}
  return {
    allowed_users: audiences.includes(said.allowed_users) ? said.allowed_users : 'all',
    users: said.allowed_users === 'specific' ? usersOf(said, users) : [],
  }
}

/** Operators name apps themselves here, so an app is known by its old id and by its name. */
const convertApps = (document: KazooDocument, { accountId, users }: People): Converted => {
  const { fields } = document
  const { findings, leftOut } = notesOf(document)
  const said = Object.entries(isObject(fields.apps) ? fields.apps : {})
  const apps = said.flatMap(([id, app]) =>
    [id, textIn(app, 'name')].filter(isAppId).map((key) => [key, installedOf(app, users)] as const),
  )
  const listed: readonly unknown[] = Array.isArray(fields.blacklist) ? fields.blacklist : []
  const blacklist = [...new Set(listed.filter(isAppId))].slice(0, maxBlacklisted)
  for (const id of [...said.map(([app]) => app), ...listed].filter((one) => !isAppId(one)))
    leftOut('app_unreadable', { field: 'apps', old: String(id).slice(0, 64) })
  const doc = { apps: Object.fromEntries(apps), uninstalled: [], blacklist, imposed: [] }
  return imported(document, 'apps_store', accountId, { id: accountId, doc, findings })
}

export const exportApps = (record: OwnRecord): ExportedDocument[] => {
  const { apps, blacklist } = record.doc
  return [exported('apps_store', record, { id: 'apps_store', fields: { apps, blacklist } })]
}

type Convert = (document: KazooDocument, people: People) => Converted

// These end with their system.
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

const storedRealmIn = (documents: readonly KazooDocument[], accountId: string) => {
  const account = documents.find(({ id, type }) => id === accountId && type === 'account')
  return account && textIn(account.fields, 'realm')
}

const ofType = (documents: readonly KazooDocument[], type: string) =>
  documents.filter((document) => document.type === type && !isGone(document.fields))

const idsOf = (documents: readonly KazooDocument[], type: string) =>
  new Set(ofType(documents, type).map(({ id }) => id))

/** Names of an account's documents that only one account may have. */
export const sharedNamesIn = (
  documents: readonly KazooDocument[],
  { accountId, realm }: Pick<PeopleContext, 'accountId' | 'realm'>,
): SharedName[] => {
  const storedRealm = storedRealmIn(documents, accountId)
  const docOf = (document: KazooDocument) =>
    document.type === 'device'
      ? tidyDevice(document, [realm, storedRealm], notesOf(document))
      : document.fields
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
