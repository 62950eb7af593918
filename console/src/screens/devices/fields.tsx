import { PasswordInput, Select } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { recordSelect } from '../../parts/record-select.tsx'
import { deviceTypes, useDeviceType } from './types.ts'

const DeviceType: OwnField = ({ form, path }) => {
  const nameOf = useDeviceType()
  const { value, ...input } = form.getInputProps(path)
  const types = new Set<string>([
    ...deviceTypes,
    ...(typeof value === 'string' && value !== '' ? [value] : []),
  ])
  return (
    <Select
      {...input}
      label={labelOf(path)}
      value={value ?? null}
      data={[...types].map((type) => ({ value: type, label: nameOf(type) }))}
    />
  )
}

const SipPassword: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, ...input } = form.getInputProps(path)
  return (
    <PasswordInput
      {...input}
      label={labelOf(path)}
      value={value ?? ''}
      autoComplete="off"
      visibilityToggleButtonProps={{ 'aria-label': t('devices.showPassword') }}
    />
  )
}

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

export const own: Readonly<Record<string, OwnField>> = {
  owner_id: recordSelect('user'),
  device_type: DeviceType,
  'sip.password': SipPassword,
}
