import { countedCategories } from '../../src/areas/billing/services/rules.ts'
import { isObject, type Json, present } from '../../src/lib/json.ts'
import { decodedDatabaseName } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { integerIn, isFilled, isGone, textIn } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { type Conversion, conversionOf, converted, type Notes } from './findings.ts'
import { bookkeeperIn, deckAmongItems, notItems, planPart, ratedeckNamed } from './pricing.rules.ts'
import { integer, objectIn, readFields, text, writeFields } from './tables.ts'

const database = 'services'
const goodStanding = 'good_standing'

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

/** Categories that are counted from records, or not at all. Others among older counts were set by hand. */
const notManual: ReadonlySet<string> = new Set([
  ...countedCategories,
  ...notItems,
  'ips',
  'voicemails',
  'faxes',
  'conferences',
  'account_apps',
  'user_apps',
  'port_request',
  'qubicle',
  'billing',
  'ledgers',
  'phone_numbers_non_billable',
])

const maxCounted = 1_000_000_000

/** Older documents, last written before 4.3: every category that is not counted from records. */
const manualIn = (fields: Json, quantities: Json): Json => {
  const isOlder =
    (integerIn(fields, 'pvt_vsn') ?? 1) < 2 &&
    !['account', 'cascade', 'manual'].some((part) => isObject(quantities[part]))
  return isOlder
    ? Object.fromEntries(Object.entries(quantities).filter(([name]) => !notManual.has(name)))
    : (objectIn(quantities, 'manual') ?? {})
}

const countsOf = (categories: Json, { repaired }: Notes): Json => {
  const counts: Record<string, Json> = {}
  for (const [category, items] of Object.entries(categories))
    for (const [item, stored] of Object.entries(isObject(items) ? items : {})) {
      const count = integerIn(items, item) ?? -1
      if (count >= 0 && count <= maxCounted) counts[category] = { ...counts[category], [item]: count }
      else
        repaired('count_unreadable', {
          field: `manual.${category}.${item}`,
          old: JSON.stringify(stored),
        })
    }
  return counts
}

const accountOfDatabase = (name: string | undefined) =>
  name && /^account\/(..)\/(..)\/(.{28})$/.exec(decodedDatabaseName(name))?.slice(1).join('')

type ServicesConversion = Conversion<ServicesContext & { accountId: string; parent: string | undefined }>

const plansIn = (conversion: ServicesConversion): Json => {
  const { fields, parent, plans, repaired, leftOut } = conversion
  const assignments: Json = {}
  for (const [id, assigned] of Object.entries(objectIn(fields, 'plans') ?? {})) {
    const vendorId =
      textIn(assigned, 'vendor_id') ??
      textIn(assigned, 'account_id') ??
      accountOfDatabase(textIn(assigned, 'account_db')) ??
      parent
    const field = `plans.${id}`
    if (vendorId === undefined || !plans.get(vendorId)?.has(id)) {
      repaired('plan_gone', { field, old: id })
      continue
    }
    const { overrides, contract } = isObject(assigned) ? assigned : {}
    if (isFilled(contract)) leftOut('contract_left_out', { field: `${field}.contract` })
    const part = planPart(isObject(overrides) ? overrides : {}, conversion, `${field}.overrides.`)
    assignments[id] = { vendor_id: vendorId, overrides: part }
  }
  return assignments
}

const standingIn = (conversion: ServicesConversion): Json => {
  const standing = readFields(statusFields, conversion.fields, conversion)
  const { status = goodStanding } = standing
  if (status === 'delinquent') return standing
  if (status !== goodStanding)
    conversion.needsHand('standing_unknown', { field: 'pvt_status', old: String(status), new: goodStanding })
  return {}
}

/** Only the parent can be billed instead of the account. */
const billingIn = ({ fields, accountId, parent, repaired }: ServicesConversion): Json => {
  const billingId = textIn(fields, 'billing_id') ?? accountId
  if (billingId === accountId) return {}
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
  const conversion = conversionOf(document, { ...context, accountId, parent: account.parent })
  const quantities = objectIn(fields, 'quantities') ?? {}
  const parts = {
    plans: plansIn(conversion),
    overrides: isObject(fields.overrides) ? planPart(fields.overrides, conversion, 'overrides.') : {},
    manual: countsOf(manualIn(fields, quantities), conversion),
  }
  const ratedeck = ratedeckNamed(objectIn(fields, 'ratedeck') ?? deckAmongItems(quantities), conversion)
  if (isFilled(fields.payment_tokens)) conversion.needsHand('card_needed', { field: 'payment_tokens' })
  const doc = {
    ...Object.fromEntries(Object.entries(parts).filter(([, part]) => isFilled(part))),
    ...bookkeeperIn(fields, 'bookkeeper', conversion),
    ...present({ ratedeck }),
    ...billingIn(conversion),
    ...standingIn(conversion),
  }
  return conversion.imported('services', accountId, { id: accountId, doc })
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
  record: Omit<OwnRecord, 'hidden'>,
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
      pvt_status: goodStanding,
      ...writeFields(statusFields, doc),
    },
  })
}
