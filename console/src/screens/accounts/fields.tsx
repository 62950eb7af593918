import { Autocomplete } from '@mantine/core'
import { schemaAt } from '../../lib/schemas.ts'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { TimezoneSelect } from '../../parts/timezone-select.tsx'

export const newGroups: readonly FieldGroup[] = [
  { title: 'accounts.basics', fields: ['name', 'realm', 'timezone', 'language'] },
]

export const groups: readonly FieldGroup[] = [
  { title: 'accounts.basics', fields: ['name', 'realm', 'timezone', 'language', 'org', 'announcement'] },
  {
    title: 'accounts.callerId',
    fields: [
      'caller_id.internal.name',
      'caller_id.internal.number',
      'caller_id.external.name',
      'caller_id.external.number',
    ],
  },
  {
    title: 'accounts.notifications',
    fields: ['notifications.low_balance.enabled', 'notifications.low_balance.threshold'],
  },
]

const languages = ['en-us', 'en-gb', 'de-de', 'fr-fr', 'es-es', 'it-it', 'nl-nl', 'pt-br', 'ru-ru', 'ar-sa']

const LanguageInput: OwnField = ({ form, path, schema }) => {
  const part = schemaAt(schema, path)
  const input = form.getInputProps(path)
  return (
    <Autocomplete
      {...input}
      value={typeof input.value === 'string' ? input.value : ''}
      label={labelOf(path, part)}
      description={part?.description}
      data={languages}
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = { timezone: TimezoneSelect, language: LanguageInput }
