import type { FieldGroup, OwnField } from '../../parts/fields.tsx'
import { UserSelect } from '../../parts/user-select.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'devices.basics', fields: ['name', 'owner_id', 'enabled', 'device_type', 'mac_address'] },
  { title: 'devices.sip', fields: ['sip.username', 'sip.password', 'sip.method', 'sip.invite_format'] },
  {
    title: 'devices.callerId',
    fields: [
      'caller_id.internal.name',
      'caller_id.internal.number',
      'caller_id.external.name',
      'caller_id.external.number',
    ],
  },
  {
    title: 'devices.provision',
    fields: ['provision.endpoint_brand', 'provision.endpoint_family', 'provision.endpoint_model'],
  },
]

export const own: Readonly<Record<string, OwnField>> = { owner_id: UserSelect }
