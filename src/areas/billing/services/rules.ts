import type { Static } from 'typebox'
import type { Problems } from '../../../lib/failure.ts'
import { gregorianOfMonth, monthAfter } from '../../../lib/gregorian.ts'
import { present } from '../../../lib/json.ts'
import { dollarsOfUnits, maxUnits, unitsOfDollars } from '../../../lib/money.ts'
import { monthNumber } from '../../../lib/time-key.ts'
import type { PaymentTokens } from './payment-tokens/rules.ts'
import { type Application, type MessagePrices, messagePrices } from './plans/schema.ts'
import type { Invoice } from './pricing/invoices.ts'
import type { PricedItem } from './pricing/items.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import type { ImportedServices, TaxStatus } from './schema.ts'

export interface ServicesDoc extends Static<typeof ImportedServices> {
  tax?: TaxStatus
  payment_tokens?: PaymentTokens
  /** The customer ids of gateways, by `type/vendor`. */
  customers?: Record<string, string>
}

export const defaultBookkeeper = { id: 'default_bookkeeper', type: 'default' }

/** An account is billed itself, or through its parent. */
export const mayBeBilledBy = (billingId: string, account: { id: string; parentId: string | undefined }) =>
  billingId === account.id || billingId === account.parentId

export const standingJson = ({ status, reason, reason_code }: ServicesDoc) =>
  status === 'delinquent'
    ? { in_good_standing: false, ...present({ reason, reason_code }) }
    : { in_good_standing: true }

/** A bookkeeper's report ends only what the same reason began. */
export type DelinquencyReason = 'bookkeeper_rejection' | 'payment_declined'

const paymentRequired = 402

/** The services after a bookkeeper's report; the same object if nothing changes. */
export const standingAfter = (doc: ServicesDoc, reason: DelinquencyReason, isGood: boolean): ServicesDoc => {
  const isDelinquent = doc.status === 'delinquent'
  if (!isGood)
    return isDelinquent ? doc : { ...doc, status: 'delinquent', reason, reason_code: paymentRequired }
  if (!isDelinquent || doc.reason !== reason) return doc
  const { reason: _, reason_code: __, ...rest } = doc
  return { ...rest, status: 'good_standing' }
}

/** The flat format of older clients. */
const flatItem = (priced: PricedItem) => {
  const { category, item, plan, quantity, rate, single, cumulative } = priced
  return {
    category,
    item: plan.as ?? item,
    quantity,
    rate: dollarsOfUnits(rate),
    single_discount: single > 0,
    single_discount_rate: dollarsOfUnits(single),
    cumulative_discount: cumulative.quantity,
    cumulative_discount_rate: dollarsOfUnits(cumulative.rate),
    activation_charge: plan.activation_charge ?? 0,
    minimum: plan.minimum ?? 0,
    exceptions: plan.exceptions ?? [],
  }
}

/** Category -> item -> flat line, of all invoices. */
export const flatItems = (invoices: readonly Invoice[]) => {
  const items: Record<string, Record<string, ReturnType<typeof flatItem>>> = {}
  for (const priced of invoices.flatMap((invoice) => invoice.items)) {
    const { category, item } = priced
    items[category] = { ...items[category], [item]: flatItem(priced) }
  }
  return items
}

/** The largest amount of a line in units: each month, or at once if all of it were new. */
const lineSize = ({ billable, rate, total, plan }: PricedItem) =>
  Math.max(Math.abs(total), billable * rate, billable * unitsOfDollars(plan.activation_charge ?? 0))

/** The problems of invoices that are too large to be booked exactly. Existing ones may stay. */
export const sizeProblems = (
  before: readonly Invoice[],
  after: readonly Invoice[],
  pathOf: (category: string, item: string) => string,
): Problems => {
  const problems: Problems = {}
  const target = dollarsOfUnits(maxUnits)
  const message = `An invoice stays within ${target} dollars`
  const linesBefore = before.flatMap(({ items }) => items)
  for (const { items } of after) {
    let sum = 0
    for (const line of items) {
      const { category, item } = line
      const known = linesBefore.find((one) => one.category === category && one.item === item)
      sum += lineSize(line)
      if (sum > maxUnits && lineSize(line) > (known ? lineSize(known) : 0))
        problems[pathOf(category, item)] = { maximum: { message, target } }
    }
  }
  return problems
}

export const offeredApplications = (
  applications: Readonly<Record<string, Application>>,
  masterId: string,
): Record<string, Application> =>
  Object.fromEntries(
    Object.entries(applications).map(([id, one]) => [id, { vendor_id: masterId, enabled: true, ...one }]),
  )

const messageKinds = ['sms', 'mms'] as const

/** Message prices with their defaults. */
export const pricedMessages = (im: MessagePrices): MessagePrices =>
  Object.fromEntries(
    messageKinds.flatMap((kind) => {
      const said = im[kind]
      if (!said) return []
      const price = messagePrices[kind]
      return [[kind, { enabled: true, ...said, rate: { inbound: price, outbound: price, ...said.rate } }]]
    }),
  )

/** Bills are made on the first of the month, 00:00 UTC. */
export const billingCycle = (unixMilliseconds: number) => ({
  next: gregorianOfMonth(monthAfter(monthNumber(unixMilliseconds))),
  period: 1,
  unit: 'month',
})

const itemSchema = {
  rate: { type: 'number', minimum: 0 },
  rates: { type: 'object', additionalProperties: { type: 'number' } },
  flat_rate: { type: 'number', minimum: 0 },
  flat_rates: { type: 'object', additionalProperties: { type: 'number' } },
  minimum: { type: 'integer', minimum: 0 },
  maximum: { type: 'integer', minimum: 0 },
  step: { type: 'integer', minimum: 1 },
  activation_charge: { type: 'number', minimum: 0 },
  cascade: { type: 'boolean' },
  discounts: { type: 'object' },
  prorate: {
    type: 'object',
    properties: { additions: { type: 'boolean' }, removals: { type: 'boolean' } },
  },
  taxes: { type: 'array' },
  name: { type: 'string' },
}

const editableItems = {
  users: 'admin user',
  devices: 'application ata cellphone ctu fax landline mobile sip_device sip_uri smartphone softphone',
  limits: 'inbound_trunks outbound_trunks twoway_trunks',
  branding: 'whitelabel',
  phone_numbers: 'caribbean did_us emergency international toll_us tollfree_us unknown',
  number_services: 'carrier_name cnam e911 failover inbound_cnam local outbound_cnam port',
  number_carriers: 'knm_inventory knm_local knm_managed knm_mdn knm_other',
  accounts: 'account',
}

export const countedCategories: ReadonlySet<string> = new Set(Object.keys(editableItems))

/** Everything that a plan can price: the data of a form. */
export const editable = () =>
  Object.fromEntries(
    Object.entries(editableItems).map(([category, items]) => [
      category,
      {
        _all: { ...itemSchema, as: { type: 'string' }, exceptions: { type: 'array' } },
        ...Object.fromEntries(items.split(' ').map((item) => [item, itemSchema])),
      },
    ]),
  )

// The built-in bookkeeper has the data, and Stripe needs only amounts.
const knowAlready = new Set(['default', 'stripe'])

/** Whether a bookkeeper gets changed invoices. */
export const needsSync = ({ type }: Pick<Bookkeeper, 'type'>) => !knowAlready.has(type)

/** The key of a bookkeeper in rows. */
export const bookkeeperKey = ({ id, type, vendor_id }: Bookkeeper) => JSON.stringify([type, vendor_id, id])

export const bookkeeperOfKey = (key: string): Bookkeeper => {
  const [type, vendor_id, id]: [string, string, string] = JSON.parse(key)
  return { id, type, vendor_id }
}

const firstSyncPauseMs = 10_000
const maxSyncPauseMs = 3_600_000

/** The pause before a rejected invoice is sent again. */
export const syncPauseAfter = (attempts: number) =>
  Math.min(firstSyncPauseMs * 2 ** Math.min(attempts, 20), maxSyncPauseMs)

/** Then audit entries fail; the invoice is still sent. */
export const maxRetryWaitMs = 24 * 3_600_000
