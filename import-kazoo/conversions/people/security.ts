import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { authModuleNames } from '../../../src/settings/auth-modules.ts'
import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'
import { type PeopleContext, providerKey } from './context.ts'

export const configPrefix = 'configs_'
const signIn = 'crossbar.auth'

/** Whom a demand for a second factor leads to, and what an operator has to know of it. */
const factorFindings = (
  document: KazooDocument,
  module: string,
  factor: Json,
  { accountId, providers }: PeopleContext,
): Finding[] => {
  if (!isTrue(factor.enabled)) return []
  const id = textIn(factor, 'configuration_id')
  const holder = textIn(factor, 'account_id') ?? accountId
  if (id === undefined || providers.has(providerKey(holder, id))) return []
  const field = `auth_modules.${module}.multi_factor`
  return [finding(document, 'needs_hand', 'factor_provider_missing', { field, old: id })]
}

const moduleOf = (document: KazooDocument, name: string, module: Json, context: PeopleContext) => {
  const { multi_factor: factor, ...others } = module
  if (!isObject(factor)) return { doc: module, findings: [] }
  // Nobody is there to be asked when a machine signs in.
  if (name === 'cb_api_auth' && isTrue(factor.enabled)) {
    const field = `auth_modules.${name}.multi_factor`
    return { doc: others, findings: [finding(document, 'needs_hand', 'factor_of_key', { field })] }
  }
  return { doc: module, findings: factorFindings(document, name, factor, context) }
}

const convertSignIn = (document: KazooDocument, context: PeopleContext): Converted => {
  const doc = publicPart(document.fields, ['id'])
  const stored = isObject(doc.auth_modules) ? doc.auth_modules : {}
  const modules: Json = {}
  const findings: Finding[] = []
  for (const [name, module] of Object.entries(stored)) {
    if (!isObject(module) || !authModuleNames.some((one) => one === name)) {
      findings.push(finding(document, 'left_out', 'auth_module_unknown', { field: `auth_modules.${name}` }))
      continue
    }
    const taken = moduleOf(document, name, module, context)
    modules[name] = taken.doc
    findings.push(...taken.findings)
  }
  const draft = draftOf(document, 'security', context.accountId, { doc: { ...doc, auth_modules: modules } })
  return converted(document, 'imported', { drafts: [draft], findings })
}

/** What an account says in the place of the system's settings. */
export const convertConfig = (document: KazooDocument, context: PeopleContext): Converted => {
  const name = document.id.startsWith(configPrefix) ? document.id.slice(configPrefix.length) : ''
  if (name === signIn) return convertSignIn(document, context)
  if (!context.accountSettings.has(name))
    return converted(document, 'kept', {
      findings: [finding(document, 'left_out', 'config_unknown', { old: name.slice(0, 128) })],
    })
  const doc = publicPart(document.fields, ['id'])
  return converted(document, 'imported', {
    drafts: [draftOf(document, 'account_config', context.accountId, { doc })],
  })
}

const knownProviders = ['duo', 'otp']

/** Whether a document says who provides a second factor. */
export const isProvider = ({ type, fields }: KazooDocument) =>
  type === 'provider' && textIn(fields, 'pvt_provider_type') === 'multi_factor'

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
    return converted(document, 'kept', {
      findings: [finding(document, 'needs_hand', 'factor_provider_unknown', { old: provider.slice(0, 128) })],
    })
  const isDuo = provider === 'duo'
  const settings = isObject(fields.settings) && !isDuo ? { settings: fields.settings } : {}
  const name = (textIn(fields, 'name') ?? provider).slice(0, 128)
  const draft = draftOf(document, 'multi_factor', accountId, {
    doc: { name, provider_name: provider, enabled: isTrue(fields.enabled), ...settings },
  })
  const findings = isDuo ? [finding(document, 'needs_hand', 'duo_not_available', { old: name })] : []
  return converted(document, 'imported', { drafts: [draft], findings })
}

/** What the tokens of an account may be used for. */
export const convertRestrictions = (document: KazooDocument, { accountId }: PeopleContext): Converted => {
  const { restrictions } = document.fields
  if (!isObject(restrictions))
    return converted(document, 'rejected', {
      findings: [finding(document, 'needs_hand', 'restrictions_missing', { field: 'restrictions' })],
    })
  const draft = draftOf(document, 'token_restrictions', accountId, { doc: { restrictions } })
  return converted(document, 'imported', { drafts: [{ ...draft, id: accountId }] })
}
