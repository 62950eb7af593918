import { isObject, type Json } from '../../src/lib/json.ts'
import { isSecretKey } from '../../src/lib/secrets.ts'
import { isSettingsName } from '../../src/settings/sections.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isFilled, isGone, publicPart } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, notesOf } from './findings.ts'
import { todaysCarrier } from './numbers.rules.ts'

// Settings of `system_config` that both systems use: none with addresses, ports or modules.

const all = 'all'

const taken: Readonly<Record<string, readonly string[] | typeof all>> = {
  accounts: ['default_timezone'],
  alerts: all,
  cdr: all,
  crossbar: [
    'token_costs',
    'user_auth_tokens',
    'api_auth_tokens',
    'pagination_page_size',
    'maximum_range',
    'max_upload_size',
    'reverse_proxies',
  ],
  'crossbar.accounts': ['account_realm_suffix'],
  'crossbar.auth': ['token_auth_expiry_s'],
  'crossbar.cdrs': all,
  frontier: all,
  number_manager: [
    'classifiers',
    'e164_converters',
    'reconcile_regex',
    'released_state',
    'should_age',
    'features',
    'carrier_modules',
  ],
  'number_manager.locality': all,
  'number_manager.other': all,
  services: all,
  token_buckets: all,
  topup: all,
  whitelabel: all,
}

/** Secret keys are set by hand on both sides. */
const isFollowed = (name: string, key: string) => {
  const keys = Object.hasOwn(taken, name) ? (taken[name] ?? []) : []
  return (keys === all || keys.includes(key)) && !isSecretKey(key)
}

// One document here for two there.
const [joined, joining] = ['crossbar.accounts', 'accounts']

/** Their secrets are set again by hand. */
const isSecretDocument = (name: string) =>
  ['smtp_client', 'braintree', 'kazoo_auth'].includes(name) ||
  (name.startsWith('number_manager.') && !Object.hasOwn(taken, name))

/** Lists of converters name programs of Kazoo; an object contains formats in order. */
const readNumberSection = ({ converters, ...section }: Json): Json => {
  if (isObject(converters)) section.e164_converters ??= converters
  if (Array.isArray(section.carrier_modules))
    section.carrier_modules = section.carrier_modules.map((name) =>
      typeof name === 'string' ? todaysCarrier(name) : name,
    )
  return section
}

const sectionsIn = (doc: Json) =>
  Object.entries(publicPart(doc)).filter((entry): entry is [string, Json] => isObject(entry[1]))

const followedSections = (name: string, sections: readonly (readonly [string, Json])[]): Json =>
  Object.fromEntries(
    sections.flatMap(([section, values]) => {
      const followed = Object.entries(values).filter(([key]) => isFollowed(name, key))
      return followed.length > 0 ? [[section, Object.fromEntries(followed)]] : []
    }),
  )

const convertOne = (document: KazooDocument, systemId: string): Converted => {
  const { id, fields } = document
  const { findings, needsHand, imported } = notesOf(document)
  if (isGone(fields)) return converted(document, 'skipped')
  if (isSecretDocument(id)) needsHand('set_again')
  if (!Object.hasOwn(taken, id)) return converted(document, 'skipped', { findings })
  const sections = sectionsIn(fields).filter(([name]) => isSettingsName(name))
  for (const [name, values] of sections)
    for (const key of Object.keys(values).filter(isSecretKey))
      needsHand('set_again', { field: `${name}.${key}` })
  const read = id === 'number_manager' ? readNumberSection : (section: Json) => section
  const doc = followedSections(
    id,
    sections.map(([name, values]) => [name, read(values)]),
  )
  return isFilled(doc) ? imported('setting', systemId, { doc }) : converted(document, 'skipped', { findings })
}

/** `accounts` is merged into `crossbar.accounts`. */
export const convertSettings = (
  documents: readonly KazooDocument[],
  systemId: string,
): readonly Converted[] => {
  const found = documents.map((document) => convertOne(document, systemId))
  const draftFor = (id: string) => found.find(({ document }) => document.id === id)?.drafts[0]
  const [one, other] = [draftFor(joined), draftFor(joining)]
  if (!other) return found
  const sections = Object.keys({ ...other.doc, ...one?.doc }).map((name) => [
    name,
    { ...(other.doc[name] as Json | undefined), ...(one?.doc[name] as Json | undefined) },
  ])
  const together = { ...(one ?? other), id: joined, doc: Object.fromEntries(sections) }
  return found.map((each) => {
    const [draft] = each.drafts
    if (draft === (one ?? other)) return { ...each, drafts: [together] }
    return draft === other ? { ...each, drafts: [] } : each
  })
}

export const exportSetting = (record: OwnRecord, accountId: string): ExportedDocument[] => {
  const fields = followedSections(record.id, sectionsIn(record.doc))
  return isFilled(fields)
    ? [exported('config', record, { database: 'system_config', accountId, fields })]
    : []
}

export const accountsSetting = (doc: Json): Json => followedSections(joining, sectionsIn(doc))
