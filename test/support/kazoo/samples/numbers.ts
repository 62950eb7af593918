import type { Json } from '../../../../src/lib/json.ts'
import {
  accounts,
  databaseOf,
  encodedName,
  gregorian,
  idOf,
  type Sample,
  sample,
  stamped,
} from '../sample.ts'

const { R, C, D, X } = accounts

const created = gregorian(2021, 2, 3)

/** The database of a number is named by its first five characters. */
const shardOf = (number: string) => `numbers/${number.slice(0, 5)}`

const numberFields = (row: number, number: string, fields: Json) => ({
  _id: number,
  pvt_type: 'number',
  pvt_db_name: encodedName(shardOf(number)),
  pvt_created: created + row,
  pvt_modified: created + row + 60,
  pvt_vsn: '1',
  pvt_module_name: 'knm_local',
  pvt_features: {},
  pvt_ported_in: false,
  ...fields,
})

const number = (row: number, name: string, id: string, fields: Json): Sample =>
  sample(row, name, shardOf(id), numberFields(row, id, fields))

const copy = (row: number, name: string, accountId: string, id: string, fields: Json): Sample =>
  sample(row, name, databaseOf(accountId), numberFields(row, id, fields))

const owned = {
  pvt_state: 'in_service',
  pvt_assigned_to: C,
  pvt_used_by: 'callflow',
  pvt_module_name: 'knm_bandwidth2',
  pvt_features: { outbound_cnam: { display_name: 'Cee' } },
  cnam: { display_name: 'Cee' },
  pvt_reserve_history: [],
  pvt_vsn: '2',
  label: 'Reception',
}

const old = {
  pvt_number_state: 'in_service',
  state: 'in_service',
  pvt_state: undefined,
  pvt_assigned_to: C,
  pvt_module_name: 'wnm_local',
  pvt_type: undefined,
  pvt_features: ['failover', 'dash_e911'],
  features: ['failover', 'dash_e911'],
  pvt_features_available: ['failover'],
  pvt_resource_db: 'numbers%2F%2B1415',
  pvt_is_billable: false,
  failover: { e164: '+14155550199' },
  dash_e911: {
    street_address: '140 Geary St.',
    locality: 'San Francisco',
    region: 'CA',
    postal_code: '94108',
  },
  used_by: '',
}

const ofCee = { pvt_state: 'in_service', pvt_assigned_to: C, pvt_used_by: 'callflow' }

export const numberSamples: readonly Sample[] = [
  number(25, 'number_owned', '+14155550125', owned),
  copy(25, 'copy_of_number_owned', C, '+14155550125', owned),
  number(26, 'number_old', '+14155550126', old),
  copy(26, 'copy_of_number_old', C, '+14155550126', old),
  number(27, 'number_of_deleted_account', '+14155550127', {
    pvt_state: 'in_service',
    pvt_assigned_to: X,
    pvt_used_by: 'callflow',
    pvt_reserve_history: [X],
  }),
  copy(27, 'copy_of_number_of_deleted_account', X, '+14155550127', {
    pvt_state: 'in_service',
    pvt_assigned_to: X,
    pvt_used_by: 'callflow',
    pvt_reserve_history: [X],
  }),
  number(28, 'number_copied_elsewhere', '+14155550128', ofCee),
  copy(28, 'copy_of_number_of_another', D, '+14155550128', {
    pvt_state: 'in_service',
    pvt_assigned_to: D,
    pvt_used_by: 'callflow',
  }),
  copy(29, 'copy_without_shard', D, '+442079460129', {
    pvt_state: 'in_service',
    pvt_assigned_to: D,
    pvt_used_by: 'trunkstore',
  }),
  number(30, 'number_deleted', '+14155550130', { pvt_state: 'deleted', pvt_previously_assigned_to: C }),
  number(31, 'number_discovery', '+14155550131', {
    pvt_state: 'discovery',
    pvt_module_name: 'knm_bandwidth2',
  }),
  number(32, 'number_reserved', '+14155550132', {
    pvt_state: 'reserved',
    pvt_assigned_to: C,
    pvt_reserve_history: [C, X, R],
  }),
  copy(32, 'copy_of_number_reserved', C, '+14155550132', {
    pvt_state: 'reserved',
    pvt_assigned_to: C,
    pvt_reserve_history: [C, X, R],
  }),
  sample(33, 'number_in_conflict', shardOf('+14155550133'), numberFields(33, '+14155550133', ofCee), {
    losers: [
      numberFields(33, '+14155550133', {
        pvt_state: 'in_service',
        pvt_assigned_to: D,
        pvt_used_by: 'callflow',
      }),
    ],
  }),
  copy(33, 'copy_of_number_in_conflict', C, '+14155550133', ofCee),
  number(34, 'number_without_plus', '4155550100', { pvt_state: 'available' }),
  sample(35, 'number_managed', 'numbers/managed', {
    _id: '+493055550135',
    pvt_type: 'number',
    pvt_account_id: R,
    pvt_account_db: 'numbers%2Fmanaged',
    pvt_created: created,
    pvt_modified: created,
    pvt_state: 'available',
    pvt_module_name: 'knm_managed',
  }),
  // Target of the numbers of the callflow; without it, none of them rings.
  sample(0, 'callflow_of_numbers', databaseOf(C), {
    _id: idOf('callflow_of_numbers'),
    name: 'Reception',
    numbers: ['+14155550125', '+14155550128', '+14155550133'],
    flow: { module: 'user', data: { id: idOf('user_both_digests'), timeout: 20 }, children: {} },
    ...stamped('callflow', C, created),
  }),
]
