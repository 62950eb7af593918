import type { Json } from '../../../../src/lib/json.ts'
import { accounts, databaseOf, gregorian, idOf, type Sample, sample, stamped } from '../sample.ts'

const { M, R, C, D, E, F, G, H, I, J, X, gone } = accounts

const account = (id: string, created: number, pvtTree: readonly string[], fields: Json) => ({
  _id: id,
  language: 'en-us',
  timezone: 'Europe/Berlin',
  call_restriction: {},
  ...stamped('account', id, created),
  pvt_tree: pvtTree,
  pvt_enabled: true,
  pvt_api_key: idOf(`key of ${id}`) + idOf(`other half of the key of ${id}`),
  pvt_signature_secret: idOf(`signature secret of ${id}`),
  ...fields,
})

/** An account is in its own database, and as a copy in `accounts`. */
const twice = (row: number, name: string, fields: Json & { _id: string }): Sample[] => [
  sample(row, name, databaseOf(fields._id), fields),
  sample(0, `copy_of_${name}`, 'accounts', fields),
]

const first = gregorian(2019, 3, 4)

export const accountSamples: readonly Sample[] = [
  sample(1, 'accounts_config', 'system_config', {
    _id: 'accounts',
    'kazoo_apps@node1.kazoo.example': { master_account_id: M },
    default: { master_account_id: gone, default_timezone: 'America/Los_Angeles' },
    pvt_type: 'config',
    pvt_created: first,
    pvt_modified: first,
  }),
  ...twice(
    2,
    'account_master',
    account(M, first, [], {
      name: 'Master',
      realm: 'master.sip.example',
      pvt_superduper_admin: 'true',
      pvt_wnm_allow_additions: true,
    }),
  ),
  ...twice(
    3,
    'account_reseller',
    account(R, first + 1000, [M], {
      name: 'Zoë & Søns 電話',
      realm: 'zoe.sip.example',
      pvt_reseller: true,
      pvt_reseller_id: M,
      pvt_vsn: '2',
    }),
  ),
  ...twice(
    4,
    'account_gone_ancestor',
    account(C, first + 2000, [M, gone, R], {
      name: 'Cee',
      realm: 'cee.sip.example',
      pvt_reseller_id: R,
      pvt_vsn: '2',
      caller_id: { internal: { name: 'Cee', number: '100' } },
      ui_metadata: { version: '5.0-4', ui: 'monster-ui', origin: 'accounts' },
    }),
  ),
  ...twice(
    5,
    'account_disabled',
    account(D, first + 3000, [M], {
      name: 'Dee',
      realm: 'dee.sip.example',
      enabled: true,
      pvt_enabled: false,
      pvt_reseller_id: M,
    }),
  ),
  sample(
    6,
    'account_copy_only',
    'accounts',
    account(E, first + 4000, [M, R], { name: 'Only a copy', realm: 'copy.sip.example', pvt_reseller_id: R }),
  ),
  sample(
    7,
    'account_without_copy',
    databaseOf(F),
    account(F, first + 5000, [M], { name: 'Eff', realm: 'eff.sip.example', pvt_reseller_id: M }),
  ),
  ...twice(
    8,
    'account_realm_in_capitals',
    account(G, first + 6000, [M], { name: 'Gee', realm: 'CEE.SIP.EXAMPLE', pvt_reseller_id: M }),
  ),
  ...twice(
    9,
    'account_own_ancestor',
    account(H, first + 7000, [M, H], { name: 'Aitch', realm: 'aitch.sip.example', pvt_reseller_id: M }),
  ),
  ...twice(
    10,
    'account_cycle_older',
    account(I, first + 8000, [M, J], { name: 'Eye', realm: 'eye.sip.example', pvt_reseller_id: M }),
  ),
  ...twice(
    11,
    'account_cycle_younger',
    account(J, first + 9000, [M, I], { name: 'Jay', realm: 'jay.sip.example', pvt_reseller_id: M }),
  ),
  ...twice(
    12,
    'account_deleted',
    account(X, first + 10_000, [M, R], {
      name: 'Ex',
      realm: 'ex.sip.example',
      pvt_reseller_id: R,
      pvt_deleted: true,
    }),
  ),
  sample(12, 'call_of_deleted', databaseOf(X, '202501'), {
    _id: '202501-ex-call-1@10.1.2.3',
    call_id: 'ex-call-1@10.1.2.3',
    call_direction: 'inbound',
    interaction_id: `${gregorian(2025, 1, 9, 10)}-0a0b0c0d`,
    interaction_time: gregorian(2025, 1, 9, 10),
    interaction_key: '0a0b0c0d',
    timestamp: gregorian(2025, 1, 9, 10, 1),
    duration_seconds: 60,
    billing_seconds: 55,
    custom_channel_vars: { account_id: X },
    ...stamped('cdr', X, gregorian(2025, 1, 9, 10, 1), databaseOf(X, '202501')),
    pvt_vsn: '2',
  }),
  sample(12, 'ledger_of_deleted', databaseOf(X, '202501'), {
    _id: `202501-${idOf('ledger of X')}`,
    amount: 500,
    source: { service: 'per-minute-voip', id: 'ex-call-1@10.1.2.3' },
    usage: { type: 'voice', quantity: 60, unit: 'sec' },
    period: { start: gregorian(2025, 1, 9, 10, 1) },
    account: { id: X, name: 'Ex' },
    ...stamped('ledger', X, gregorian(2025, 1, 9, 10, 1), databaseOf(X, '202501')),
    pvt_ledger_type: 'debit',
  }),
  sample(13, 'account_in_upper_case', 'account/AB/CD/EF0123456789ABCDEF0123456789', {
    _id: 'abcdef0123456789abcdef0123456789',
    name: 'Shouted',
    realm: 'shouted.sip.example',
    pvt_type: 'account',
    pvt_account_id: 'abcdef0123456789abcdef0123456789',
    pvt_account_db: 'account%2FAB%2FCD%2FEF0123456789ABCDEF0123456789',
    pvt_tree: [M],
    pvt_created: first + 11_000,
    pvt_modified: first + 11_000,
  }),
]
