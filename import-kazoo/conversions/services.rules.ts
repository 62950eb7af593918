import { isObject, type Json } from '../../src/lib/json.ts'
import { decodedDatabaseName } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { integerIn, isGone, textIn } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, imported, type Notes, notesOf } from './findings.ts'
import { bookkeeperIn, deckAmongItems, planPart, ratedeckNamed } from './pricing.rules.ts'
import { integer, readFields, text, writeFields } from './tables.ts'

const database = 'services'

const statusFields = [
  text('status', 'pvt_status'),
  text('reason', 'pvt_status_reason', 'pvt_reason'),
  integer('reason_code', 'pvt_status_reason_code', 'pvt_status_code', 'pvt_reason_code'),
]

interface ServicesContext {
  accounts: ReadonlyMap<string, { parent: string | undefined }>
  /** Imported plans, by the account that sells them. */
  plans: ReadonlyMap<string, ReadonlySet<string>>
}

/** Categories that are counted from records. Others among older counts were set by hand. */
const countedCategories: ReadonlySet<string> = new Set([
  'users',
  'devices',
  'limits',
  'branding',
  'ips',
  'phone_numbers',
  'number_carriers',
  'number_services',
  'voicemails',
  'faxes',
  'conferences',
  'account_apps',
  'user_apps',
  'accounts',
  'port_request',
  'qubicle',
  'billing',
  'ledgers',
])

const noCounts: ReadonlySet<string> = new Set([
  'ratedeck',
  'ratedeck_name',
  'ui_apps',
  'phone_numbers_non_billable',
])

const maxCounted = 1_000_000_000
const newParts = ['account', 'cascade', 'manual']

const quantitiesIn = ({ quantities }: Json): Json => (isObject(quantities) ? quantities : {})

/** Documents that were last written before 4.3. */
const isOlder = (fields: Json) => {
  if ((integerIn(fields, 'pvt_vsn') ?? 1) >= 2) return false
  return !newParts.some((part) => isObject(quantitiesIn(fields)[part]))
}

/** Older documents: every category that is not counted from records. */
const manualIn = (fields: Json): Json => {
  const quantities = quantitiesIn(fields)
  if (!isOlder(fields)) return isObject(quantities.manual) ? quantities.manual : {}
  return Object.fromEntries(
    Object.entries(quantities).filter(([name]) => !countedCategories.has(name) && !noCounts.has(name)),
  )
}

const countsOf = (categories: Json, { repaired }: Notes): Json => {
  const counts: Json = {}
  for (const [category, items] of Object.entries(categories)) {
    if (!isObject(items)) continue
    const good: Json = {}
    for (const item of Object.keys(items)) {
      const count = integerIn(items, item)
      if (count !== undefined && count >= 0 && count <= maxCounted) good[item] = count
      else {
        const told = { field: `manual.${category}.${item}`, old: JSON.stringify(items[item]) }
        repaired('count_unreadable', told)
      }
    }
    if (Object.keys(good).length > 0) counts[category] = good
  }
  return counts
}

const accountOfDatabase = (name: string | undefined) => {
  const found = name && /^account\/(..)\/(..)\/(.{28})$/.exec(decodedDatabaseName(name))
  return found ? found.slice(1).join('') : undefined
}

const vendorOf = (assigned: unknown, parent: string | undefined) =>
  textIn(assigned, 'vendor_id') ??
  textIn(assigned, 'account_id') ??
  accountOfDatabase(textIn(assigned, 'account_db')) ??
  parent

const plansIn = (
  fields: Json,
  accountId: string,
  { accounts, plans }: ServicesContext,
  notes: Notes,
): Json => {
  const assignments: Json = {}
  for (const [id, assigned] of Object.entries(isObject(fields.plans) ? fields.plans : {})) {
    const vendorId = vendorOf(assigned, accounts.get(accountId)?.parent)
    const field = `plans.${id}`
    if (vendorId === undefined || !plans.get(vendorId)?.has(id)) {
      notes.repaired('plan_gone', { field, old: id })
      continue
    }
    const { overrides, contract } = isObject(assigned) ? assigned : {}
    if (isObject(contract) && Object.keys(contract).length > 0)
      notes.leftOut('contract_left_out', { field: `${field}.contract` })
    const part = planPart(isObject(overrides) ? overrides : {}, notes, `${field}.overrides.`)
    assignments[id] = { vendor_id: vendorId, overrides: part }
  }
  return assignments
}

const deckIn = (fields: Json) =>
  isObject(fields.ratedeck) ? fields.ratedeck : deckAmongItems(quantitiesIn(fields))

const standingIn = (fields: Json, notes: Notes): Json => {
  const standing = readFields(statusFields, fields, notes)
  const { status = 'good_standing' } = standing
  if (status === 'delinquent') return standing
  if (status !== 'good_standing')
    notes.needsHand('standing_unknown', { field: 'pvt_status', old: String(status), new: 'good_standing' })
  return {}
}

/** Only the parent can be billed instead of the account. */
const billingIn = (
  fields: Json,
  accountId: string,
  parent: string | undefined,
  { repaired }: Notes,
): Json => {
  const billingId = textIn(fields, 'billing_id')
  if (billingId === undefined || billingId === accountId) return {}
  if (parent === billingId) return { billing_id: billingId }
  repaired('billing_id_not_parent', { field: 'billing_id', old: billingId, new: accountId })
  return {}
}

/** Records of missing accounts are skipped. */
export const convertServices = (document: KazooDocument, context: ServicesContext): Converted => {
  const { id, fields } = document
  const accountId = context.accounts.has(id) ? id : (textIn(fields, 'pvt_account_id') ?? id)
  const account = context.accounts.get(accountId)
  if (isGone(fields) || !account) return converted(document, 'skipped')
  const notes = notesOf(document)
  const plans = plansIn(fields, accountId, context, notes)
  const overrides = isObject(fields.overrides) ? planPart(fields.overrides, notes, 'overrides.') : {}
  const manual = countsOf(manualIn(fields), notes)
  const ratedeck = ratedeckNamed(deckIn(fields), notes)
  if (isObject(fields.payment_tokens) && Object.keys(fields.payment_tokens).length > 0)
    notes.needsHand('card_needed', { field: 'payment_tokens' })
  const filled = Object.entries({ plans, overrides, manual }).filter(
    ([, part]) => Object.keys(part).length > 0,
  )
  const doc = {
    ...Object.fromEntries(filled),
    ...bookkeeperIn(fields, 'bookkeeper', notes),
    ...(ratedeck ? { ratedeck } : {}),
    ...billingIn(fields, accountId, account.parent, notes),
    ...standingIn(fields, notes),
  }
  return imported(document, 'services', accountId, { id: accountId, doc, findings: notes.findings })
}

interface SoldTo {
  tree: readonly string[]
  resellerId: string
  isReseller: boolean
  counts: Readonly<Record<'account' | 'cascade', Readonly<Record<string, Readonly<Record<string, number>>>>>>
}

export const servicesLeft = (doc: Json) =>
  ['payment_tokens', 'customers', 'tax'].filter((key) => doc[key] !== undefined)

export const exportServices = (
  record: OwnRecord,
  { tree, resellerId, isReseller, counts: { account, cascade } }: SoldTo,
): ExportedDocument => {
  const { accountId, doc } = record
  const { plans = {}, overrides, manual = {}, bookkeeper, ratedeck, billing_id = accountId } = doc
  const quantities = { account, cascade, manual }
  return exported('service', record, {
    database,
    id: accountId,
    fields: { plans, overrides, quantities, bookkeeper, ratedeck, billing_id },
    more: {
      // Since 4.3 counts are split.
      pvt_vsn: '2',
      pvt_tree: tree,
      pvt_reseller_id: resellerId,
      pvt_is_reseller: isReseller,
      pvt_status: 'good_standing',
      ...writeFields(statusFields, doc),
    },
  })
}
