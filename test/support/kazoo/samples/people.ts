import type { Json } from '../../../../src/lib/json.ts'
import {
  accounts,
  databaseOf,
  digestsOf,
  gregorian,
  idOf,
  passwords,
  type Sample,
  sample,
  stamped,
} from '../sample.ts'

const { R, C, F } = accounts

const created = gregorian(2020, 5, 6)

/** A key that is undefined in `fields` is absent. */
const user = (row: number, name: keyof typeof passwords, accountId: string, fields: Json): Sample => {
  const { username, password } = passwords[name]
  return sample(row, name, databaseOf(accountId), {
    _id: idOf(name),
    first_name: 'First',
    last_name: 'Last',
    priv_level: 'user',
    enabled: true,
    ...stamped('user', accountId, created + row),
    username,
    ...digestsOf(username, password),
    ...fields,
  })
}

const device = (row: number, name: string, fields: Json): Sample =>
  sample(row, name, databaseOf(C), {
    _id: idOf(name),
    enabled: true,
    device_type: 'sip_device',
    ...stamped('device', C, created + row),
    ...fields,
  })

export const peopleSamples: readonly Sample[] = [
  user(14, 'user_both_digests', C, {
    first_name: 'Ann',
    last_name: 'Li',
    priv_level: 'admin',
    email: 'ann@cee.example',
    pvt_vsn: '5',
    pvt_password_timestamp: created,
    ui_metadata: { version: '5.0-4', ui: 'monster-ui', origin: 'users' },
    favourite_colour: 'green',
  }),
  user(15, 'user_md5_only', C, { first_name: 'Olga', last_name: 'Alt', pvt_sha1_auth: undefined }),
  user(16, 'user_capital', R, { first_name: 'Bob', last_name: 'First', priv_level: 'admin' }),
  user(17, 'user_same_name', R, { first_name: 'Bob', last_name: 'Second' }),
  user(18, 'user_enabled_absent', C, { first_name: 'Nina', last_name: 'Off', enabled: undefined }),
  user(19, 'user_photo_outside', C, {
    first_name: 'Pia',
    last_name: 'Far',
    pvt_attachments: {
      photo: {
        content_type: 'image/png',
        length: 2048,
        handler: { kz_att_s3: { bucket: 'pictures', key: `${C}/photo.png` } },
      },
    },
  }),
  user(20, 'user_broken_fields', C, {
    first_name: 'Rolf',
    last_name: 'Krumm',
    email: 'not an address',
    call_forward: ['+14155550199'],
    timezone: '',
  }),
  // The admin that the service record of F counts.
  user(0, 'user_of_eff', F, { first_name: 'Effie', last_name: 'Eff', priv_level: 'admin' }),
  device(21, 'device_owner_gone', {
    name: 'Left behind',
    owner_id: idOf('user that is gone'),
    mac_address: '00:15:65:AA:BB:0C',
    sip: {
      method: 'password',
      username: 'dev_left',
      password: 'left-behind-secret',
      realm: 'cee.sip.example',
    },
  }),
  device(22, 'device_sip_name', {
    name: 'Kitchen',
    owner_id: idOf('user_both_digests'),
    sip: { method: 'password', username: 'kitchen', password: 'kitchen-secret-1' },
  }),
  device(22, 'device_same_sip_name', {
    name: 'Kitchen again',
    pvt_created: created + 5000,
    pvt_modified: created + 5000,
    sip: { method: 'password', username: 'KITCHEN', password: 'kitchen-secret-2', realm: 'CEE.sip.example' },
  }),
  device(23, 'device_combo_keys_list', {
    name: 'Old desk',
    sip: { method: 'password', username: 'desk_old', password: 'desk-old-secret' },
    provision: {
      endpoint_brand: 'yealink',
      endpoint_family: 't4x',
      endpoint_model: 't42s',
      combo_keys: [
        { type: 'line' },
        null,
        { type: 'presence', value: { label: 'Ann', value: idOf('user_both_digests') } },
      ],
    },
    access_lists: { order: 'allow,deny', cidrs: ['10.0.0.0/8', '300.1.2.0/24'] },
  }),
  sample(24, 'device_orphan', 'sip_auth', {
    _id: idOf('device_orphan'),
    name: 'Orphan',
    enabled: true,
    device_type: 'softphone',
    sip: { method: 'password', username: 'orphan', password: 'orphan-secret', realm: 'gone.sip.example' },
    ...stamped('device', accounts.gone, created),
    pvt_account_db: 'sip_auth',
  }),
]
