import { listWebhookKinds } from '@crosspoint/client'
import { Autocomplete } from '@mantine/core'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { schemaAt } from '../../../lib/schemas.ts'
import { type FieldGroup, labelOf, type OwnField } from '../../../parts/fields.tsx'

export const groups: readonly FieldGroup[] = [
  {
    title: 'events.hook.basics',
    fields: ['name', 'uri', 'hook', 'enabled', 'include_subaccounts', 'include_internal_legs'],
  },
  {
    title: 'events.hook.form',
    fields: ['version', 'format', 'http_verb', 'custom_data', 'custom_request_headers'],
  },
  {
    title: 'events.hook.signature',
    fields: ['security_settings.sha256_key', 'security_settings.previous_key'],
  },
]

/** The events of a webhook: a known kind or any event type. */
const KindOfHook: OwnField = ({ form, path, schema }) => {
  const found = useAnswer(['webhook', 'kinds'], (signal) =>
    listWebhookKinds({ ...api, query: { paginate: false }, signal }),
  )
  const input = form.getInputProps(path)
  const part = schemaAt(schema, path)
  return (
    <Autocomplete
      {...input}
      value={typeof input.value === 'string' ? input.value : ''}
      label={labelOf(path, part)}
      description={part?.description}
      required
      data={(found.data?.data ?? []).map(({ id }) => id)}
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = { hook: KindOfHook }
