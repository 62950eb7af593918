import { isObject, type Json } from '../../../src/lib/json.ts'
import { decodedDatabaseName } from '../../documents/database-names.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../../documents/document.ts'
import { integerIn, isGone, textIn, timesOf } from '../../documents/fields.ts'
import { bookkeeperIn } from '../plans/bookkeeper.ts'
import type { Said } from '../plans/prices.ts'
import { planPart } from '../plans/rules.ts'
import { ratedeckNamed } from '../rates/decks.ts'

/** Category -> item -> count. */
type Counts = Record<string, Record<string, number>>

/** What has to be known of the system beside an account's services. */
export interface ServicesContext {
  /** All accounts that are imported. */
  accounts: ReadonlyMap<string, { parent: string | undefined }>
  /** The plans that are imported, by the account that sells by them. */
  plans: ReadonlyMap<string, ReadonlySet<string>>
}

/** What is counted of records. Whatever else stands among older counts was set by hand. */
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

/** What older counts hold beside counts. */
const noCounts: ReadonlySet<string> = new Set([
  'ratedeck',
  'ratedeck_name',
  'ui_apps',
  'phone_numbers_non_billable',
])

const mostCounted = 1_000_000_000
const newParts = ['account', 'cascade', 'manual']

const quantitiesIn = ({ quantities }: Json): Json => (isObject(quantities) ? quantities : {})

/** Documents that nobody has touched since 4.3 came keep the older form. */
const isOlder = (fields: Json) => {
  if ((integerIn(fields, 'pvt_vsn') ?? 1) >= 2) return false
  return !newParts.some((part) => isObject(quantitiesIn(fields)[part]))
}

const countsOf = (categories: unknown, tell: (field: string, value: unknown) => void = () => {}): Counts => {
  const counts: Counts = {}
  if (!isObject(categories)) return counts
  for (const [category, items] of Object.entries(categories)) {
    if (!isObject(items)) continue
    const good: Record<string, number> = {}
    for (const item of Object.keys(items)) {
      const count = integerIn(items, item)
      if (count !== undefined && count >= 0 && count <= mostCounted) good[item] = count
      else tell(`${category}.${item}`, items[item])
    }
    if (Object.keys(good).length > 0) counts[category] = good
  }
  return counts
}

const withCategories = (quantities: Json, isWanted: (category: string) => boolean) =>
  Object.fromEntries(Object.entries(quantities).filter(([category]) => isWanted(category)))

const manualPart = (fields: Json) => {
  const quantities = quantitiesIn(fields)
  return isOlder(fields)
    ? withCategories(quantities, (one) => !countedCategories.has(one) && !noCounts.has(one))
    : quantities.manual
}

/** What Kazoo has counted of an account itself and of those below it: what counting anew has to come to. */
export const countsIn = ({
  fields,
}: Pick<KazooDocument, 'fields'>): { account: Counts; cascade: Counts | undefined } => {
  const quantities = quantitiesIn(fields)
  if (!isOlder(fields))
    return { account: countsOf(quantities.account), cascade: countsOf(quantities.cascade) }
  return {
    account: countsOf(withCategories(quantities, (one) => countedCategories.has(one))),
    cascade: undefined,
  }
}

/** The account whose database a name is. */
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
  { fields }: KazooDocument,
  accountId: string,
  { accounts, plans }: ServicesContext,
  say: (said: Said) => void,
): Json => {
  if (!isObject(fields.plans)) return {}
  const assignments: Json = {}
  for (const [id, assigned] of Object.entries(fields.plans)) {
    const vendorId = vendorOf(assigned, accounts.get(accountId)?.parent)
    const field = `plans.${id}`
    if (vendorId === undefined || !plans.get(vendorId)?.has(id)) {
      say({ severity: 'repaired', code: 'plan_gone', field, old: id })
      continue
    }
    const overrides = isObject(assigned) && isObject(assigned.overrides) ? assigned.overrides : {}
    if (isObject(assigned) && isObject(assigned.contract) && Object.keys(assigned.contract).length > 0)
      say({ severity: 'left_out', code: 'contract_left_out', field: `${field}.contract` })
    assignments[id] = { vendor_id: vendorId, overrides: planPart(overrides, say, `${field}.overrides.`) }
  }
  return assignments
}

const deckIn = (fields: Json) => {
  if (isObject(fields.ratedeck)) return fields.ratedeck
  const quantities = quantitiesIn(fields)
  const [id] = isObject(quantities.ratedeck) ? Object.keys(quantities.ratedeck) : []
  const [name] = isObject(quantities.ratedeck_name) ? Object.keys(quantities.ratedeck_name) : []
  return { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) }
}

const standingIn = (fields: Json, say: (said: Said) => void): Json => {
  const status = textIn(fields, 'pvt_status') ?? 'good_standing'
  if (status === 'good_standing') return {}
  if (status !== 'delinquent') {
    say({
      severity: 'needs_hand',
      code: 'standing_unknown',
      field: 'pvt_status',
      old: status,
      new: 'good_standing',
    })
    return {}
  }
  const reason = textIn(fields, 'pvt_status_reason') ?? textIn(fields, 'pvt_reason')
  const code =
    integerIn(fields, 'pvt_status_reason_code') ??
    integerIn(fields, 'pvt_status_code') ??
    integerIn(fields, 'pvt_reason_code')
  return {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { reason_code: code }),
  }
}

/** An account is billed through its parent, or by itself. */
const billingIn = (
  fields: Json,
  accountId: string,
  { accounts }: ServicesContext,
  say: (said: Said) => void,
) => {
  const billingId = textIn(fields, 'billing_id')
  if (billingId === undefined || billingId === accountId) return {}
  if (accounts.get(accountId)?.parent === billingId) return { billing_id: billingId }
  say({
    severity: 'repaired',
    code: 'billing_id_not_parent',
    field: 'billing_id',
    old: billingId,
    new: accountId,
  })
  return {}
}

const ofNobody = (document: KazooDocument): Converted => ({
  document,
  outcome: 'skipped',
  drafts: [],
  findings: [],
})

/** What becomes of what an account is sold. Records of accounts that are gone stay there for good. */
export const convertServices = (document: KazooDocument, context: ServicesContext): Converted => {
  const { database, id, fields } = document
  const accountId = context.accounts.has(id) ? id : (textIn(fields, 'pvt_account_id') ?? id)
  if (isGone(fields) || !context.accounts.has(accountId)) return ofNobody(document)
  const findings: Finding[] = []
  const say = (said: Said) => void findings.push({ database, id, ...said })
  const plans = plansIn(document, accountId, context, say)
  const overrides = isObject(fields.overrides) ? planPart(fields.overrides, say, 'overrides.') : {}
  const manual = countsOf(manualPart(fields), (field, value) =>
    say({
      severity: 'repaired',
      code: 'count_unreadable',
      field: `manual.${field}`,
      old: JSON.stringify(value),
    }),
  )
  const ratedeck = ratedeckNamed(deckIn(fields), say)
  if (isObject(fields.payment_tokens) && Object.keys(fields.payment_tokens).length > 0)
    say({ severity: 'needs_hand', code: 'card_needed', field: 'payment_tokens' })
  const filled = { plans, overrides, manual }
  const draft: Draft = {
    as: 'services',
    accountId,
    id: accountId,
    ...timesOf(fields),
    doc: {
      ...Object.fromEntries(Object.entries(filled).filter(([, part]) => Object.keys(part).length > 0)),
      ...bookkeeperIn(fields, 'bookkeeper', say),
      ...(ratedeck ? { ratedeck } : {}),
      ...billingIn(fields, accountId, context, say),
      ...standingIn(fields, say),
    },
    facts: {},
    files: [],
  }
  return { document, outcome: 'imported', drafts: [draft], findings }
}
