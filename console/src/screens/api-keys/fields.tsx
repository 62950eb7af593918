import { TagsInput, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { dayAfter, dayOf, startOfDay } from '../../lib/times.ts'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'apiKeys.basics', fields: ['name', 'scopes', 'networks', 'expires'] },
]

// The areas of scopes, as the guide to API keys lists them. Others can be typed.
const areas = {
  accounts: ['accounts', 'users', 'passkeys', 'api_keys', 'security', 'search'],
  phones: ['devices', 'groups', 'callflows', 'registrations', 'channels', 'connectivity', 'resources'],
  access: ['access_lists', 'rate_limits', 'edge'],
  calls: ['cdrs'],
  numbers: ['phone_numbers'],
  tasks: ['tasks', 'input', 'output', 'stop', 'continue', 'retry'],
  billing: [
    'services',
    'service_plans',
    'ledgers',
    'transactions',
    'limits',
    'allotments',
    'rates',
    'invoices',
  ],
  other: ['alerts', 'audit', 'events', 'webhooks', 'websockets', 'whitelabel', 'notifications'],
} as const

const listIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])

const Scopes: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const input = form.getInputProps(path)
  return (
    <TagsInput
      {...input}
      value={listIn(input.value)}
      label={labelOf(path)}
      description={t('apiKeys.scopesHelp')}
      required
      data={[
        { group: t('apiKeys.areas.all'), items: ['*'] },
        ...Object.entries(areas).map(([group, names]) => ({
          group: t(`apiKeys.areas.${group}`),
          items: names.flatMap((name) => [`${name}:read`, `${name}:write`]),
        })),
      ]}
    />
  )
}

const Networks: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const input = form.getInputProps(path)
  return (
    <TagsInput
      {...input}
      value={listIn(input.value)}
      // An empty list is refused: without limits there is no list.
      onChange={(list) => input.onChange(list.length > 0 ? list : undefined)}
      label={labelOf(path)}
      description={t('apiKeys.networksHelp')}
    />
  )
}

/** The last day on which the key can be used. The record has the second when it ends. */
const Expires: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const input = form.getInputProps(path)
  return (
    <TextInput
      {...input}
      type="date"
      label={labelOf(path)}
      description={t('apiKeys.expiresHelp')}
      value={typeof input.value === 'number' ? dayOf(input.value - 1, timezone) : ''}
      onChange={({ currentTarget: { value } }) =>
        input.onChange(value === '' ? undefined : startOfDay(dayAfter(value, 1), timezone))
      }
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = {
  scopes: Scopes,
  networks: Networks,
  expires: Expires,
}
