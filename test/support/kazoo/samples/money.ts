import type { Json } from '../../../../src/lib/json.ts'
import { accounts, databaseOf, exact, gregorian, idOf, type Sample, sample, stamped } from '../sample.ts'

const { M, R, C, D, F, G, H, X } = accounts

/** A document of a month; amounts are units, of which a dollar has 10,000. */
const inMonth = (row: number, name: string, [accountId, month]: [string, string], fields: Json): Sample => {
  const created = gregorian(Number(month.slice(0, 4)), Number(month.slice(4)), 1 + (row % 20), 12)
  const database = databaseOf(accountId, month)
  return sample(row, name, database, {
    _id: `${month}-${idOf(name)}`,
    ...stamped('ledger', accountId, created, database),
    pvt_modified: created,
    ...fields,
  })
}

const rollover = (row: number, name: string, [accountId, month]: [string, string], units: number): Sample =>
  inMonth(row, name, [accountId, month], {
    _id: `${month}-ledgers_monthly_rollover`,
    amount: Math.abs(units),
    source: { service: 'rollovers', id: `${month}-ledgers_monthly_rollover` },
    usage: { type: 'voip', quantity: 0, unit: 'sec' },
    description: 'ledgers monthly rollover',
    pvt_ledger_type: units < 0 ? 'debit' : 'credit',
  })

const callDebit = (amount: number, callId: string, accountId: string, start: number) => ({
  amount,
  source: { service: 'per-minute-voip', id: callId },
  usage: { type: 'voice', quantity: 60, unit: 'sec' },
  period: { start },
  account: { id: accountId, name: 'Cee' },
  pvt_ledger_type: 'debit',
})

const legacy = (type: 'credit' | 'debit', amount: number, code: number, reason: string) => ({
  pvt_type: type,
  pvt_amount: amount,
  pvt_code: code,
  pvt_reason: reason,
})

const plan = (row: number, name: string, vendorId: string, fields: Json): Sample =>
  sample(row, name, databaseOf(vendorId), {
    _id: idOf(name),
    name,
    category: 'base',
    plan: {
      users: {
        admin: { rate: 9.99 },
        user: { rate: 4.5, discounts: { cumulative: { rate: 0.5, maximum: 10 } } },
      },
      devices: { sip_device: { rate: 1.25 } },
    },
    ...stamped('service_plan', vendorId, gregorian(2020, 1, 2)),
    ...fields,
  })

const service = (row: number, name: string, accountId: string, fields: Json): Sample =>
  sample(row, name, 'services', {
    _id: accountId,
    ...stamped('service', accountId, gregorian(2020, 1, 3)),
    ...fields,
  })

const limits = (row: number, name: string, accountId: string, fields: Json): Sample =>
  sample(row, name, databaseOf(accountId), {
    _id: 'limits',
    ...stamped('limits', accountId, gregorian(2020, 1, 4)),
    ...fields,
  })

export const moneySamples: readonly Sample[] = [
  rollover(44, 'rollover', [C, '202502'], 250_000),
  inMonth(45, 'ledger_debit', [C, '202502'], callDebit(1200, '6f0c@10.1.2.3', C, gregorian(2025, 2, 8, 14))),
  inMonth(
    46,
    'ledger_debit_second',
    [C, '202502'],
    callDebit(800, 'pair-a@10.1.2.3', C, gregorian(2025, 2, 3, 9)),
  ),
  inMonth(47, 'credit_beside_rollover', [C, '202502'], legacy('credit', 100_000, 2001, 'admin_addition')),
  inMonth(48, 'legacy_credit', [C, '202501'], legacy('credit', 300_000, 2001, 'admin_addition')),
  inMonth(48, 'legacy_debit', [C, '202501'], {
    ...legacy('debit', 50_000, 1001, 'per_minute_call'),
    call_id: 'january@10.1.2.3',
  }),
  // The month before ended with 248,000.
  rollover(49, 'rollover_unlike_last_month', [C, '202503'], 240_000),
  inMonth(50, 'ledger_without_plan', [D, '202503'], {
    amount: 70_000,
    source: { service: 'adjustment', id: idOf('adjustment of D') },
    usage: { type: 'credit', quantity: 0, unit: 'USD' },
    account: { id: D, name: 'Dee' },
    description: 'Goodwill',
    pvt_ledger_type: 'credit',
  }),
  inMonth(51, 'transaction_pending', [C, '202503'], {
    amount: 200_000,
    description: 'Top up',
    status: 'pending',
    bookkeeper: { id: idOf('bookkeeper'), type: 'braintree', vendor_id: R },
    pvt_type: 'transaction',
    pvt_transaction_type: 'sale',
  }),
  plan(0, 'plan_of_reseller', R, {}),
  plan(0, 'plan_of_master', M, {
    bookkeepers: { braintree: true },
    plan: { users: { _all: { rate: 3, as: 'user' } }, ui_apps: { accounts: { rate: 0 } } },
  }),
  service(52, 'service_of_customer', C, {
    plans: {
      [idOf('plan_of_reseller')]: { vendor_id: R, overrides: { users: { admin: { rate: 7.5 } } } },
    },
    quantities: {
      account: {
        users: { admin: 1, user: 4 },
        devices: { sip_device: 4 },
        phone_numbers: { did_us: 5 },
      },
      cascade: {},
      manual: { support: { hours: 2 } },
    },
    bookkeeper: { type: 'default', vendor_id: R },
    pvt_vsn: '2',
    pvt_status: 'good_standing',
    pvt_tree: [M, R],
    pvt_reseller_id: R,
  }),
  service(53, 'service_old', F, {
    plans: { [idOf('plan_of_master')]: { account_id: M } },
    quantities: { users: { admin: 1 }, support: { hours: 2 } },
    billing_id: M,
    pvt_vsn: undefined,
    pvt_dirty: false,
    pvt_tree: [M],
    pvt_reseller_id: M,
  }),
  service(54, 'service_of_deleted', X, {
    plans: { [idOf('plan_of_reseller')]: { vendor_id: R } },
    quantities: { account: {}, cascade: {}, manual: {} },
    pvt_vsn: '2',
  }),
  plan(55, 'plan_soft_deleted', M, { pvt_deleted: true }),
  service(55, 'service_with_deleted_plan', G, {
    plans: { [idOf('plan_soft_deleted')]: { vendor_id: M } },
    quantities: { account: {}, cascade: {}, manual: {} },
    pvt_vsn: '2',
    pvt_status: 'good_standing',
  }),
  limits(56, 'limits_in_dollars', C, {
    allow_prepay: true,
    inbound_trunks: 4,
    twoway_trunks: -1,
    pvt_allow_postpay: true,
    pvt_max_postpay_amount: exact('5.0'),
  }),
  limits(56, 'limits_in_units', H, { pvt_allow_postpay: true, pvt_max_postpay_amount: exact('5') }),
]
