import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { authModuleNames } from '../../../src/settings/auth-modules.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { finding, imported, type Notes, notesOf, unconverted } from '../findings.ts'
import { type PeopleContext, providerKey } from './context.ts'

const configPrefix = 'configs_'
const signIn = 'crossbar.auth'

/** A module without a demand for a second factor that nobody could meet; one whose provider is missing stays. */
const moduleOf = (
  name: string,
  module: Json,
  { accountId, providers }: PeopleContext,
  { needsHand }: Notes,
): Json => {
  const { multi_factor: factor, ...others } = module
  if (!isObject(factor) || !isTrue(factor.enabled)) return module
  const field = `auth_modules.${name}.multi_factor`
  // Nobody is there to be asked when a machine signs in.
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

/** What an account says in the place of the system's settings. */
export const convertConfig = (document: KazooDocument, context: PeopleContext): Converted => {
  const name = document.id.startsWith(configPrefix) ? document.id.slice(configPrefix.length) : ''
  if (name === signIn) return convertSignIn(document, context)
  if (!context.accountSettings.has(name))
    return unconverted(document, 'kept', 'left_out', 'config_unknown', { old: name.slice(0, 128) })
  return imported(document, 'account_config', context.accountId, { doc: publicPart(document.fields, ['id']) })
}

const knownProviders = ['duo', 'otp']
const providerType = 'multi_factor'

/** Whether a document says who provides a second factor. */
export const isProvider = ({ type, fields }: KazooDocument) =>
  type === 'provider' && textIn(fields, 'pvt_provider_type') === providerType

/**
 * Who provides a second factor. Duo is not to be had here: whoever demands it goes on demanding it, and nobody gets past
 * it, until the operator says otherwise. Its keys are left.
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

/** The document of who provides a second factor. */
export const exportProvider = (record: OwnRecord): LeavingDocument[] => [
  exported('provider', record, { more: { pvt_provider_type: providerType } }),
]

/** What the tokens of an account may be used for. */
export const convertRestrictions = (document: KazooDocument, { accountId }: PeopleContext): Converted => {
  const { restrictions } = document.fields
  if (!isObject(restrictions))
    return unconverted(document, 'rejected', 'needs_hand', 'restrictions_missing', { field: 'restrictions' })
  return imported(document, 'token_restrictions', accountId, { id: accountId, doc: { restrictions } })
}

/** The document of what the tokens of an account may be used for. */
export const exportRestrictions = (record: OwnRecord): LeavingDocument[] => [
  exported('token_restrictions', record, { id: 'token_restrictions' }),
]
