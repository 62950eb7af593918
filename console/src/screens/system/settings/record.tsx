import { getSystemConfigSection, updateSystemConfigSection } from '@crosspoint/client'
import { Text } from '@mantine/core'
import { useParams } from 'wouter'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { type Schema, useSchema } from '../../../lib/schemas.ts'
import type { FieldGroup } from '../../../parts/fields.tsx'
import { RecordFormTabs } from '../../../parts/record-form.tsx'
import { Loading, Screen } from '../../../parts/screen.tsx'

const isPlain = ({ type, items }: Schema) =>
  type === 'string' ||
  type === 'integer' ||
  type === 'number' ||
  type === 'boolean' ||
  (type === 'array' && items?.type === 'string')

/** Simple values come first as fields; nested values are JSON below. */
const groupsOf = ({ properties = {} }: Schema): readonly FieldGroup[] => {
  const names = Object.keys(properties)
  const plain = names.filter((name) => isPlain(properties[name] ?? {}))
  const nested = names.filter((name) => !plain.includes(name))
  return [
    { title: 'system.values', fields: plain },
    ...(nested.length > 0 ? [{ title: 'system.nested', fields: nested }] : []),
  ]
}

/** One document of settings: the values of its section `default`, which the running server follows. */
export const SettingsRecord = () => {
  const { configId = '' } = useParams()
  const { schema } = useSchema(`system_config.${configId}`)
  const path = { config_id: configId, section: 'default' }
  const found = useAnswer(['system_config', configId], (signal) =>
    getSystemConfigSection({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data || !schema) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen title={configId}>
      {schema.description && <Text c="dimmed">{schema.description}</Text>}
      <RecordFormTabs
        key={configId}
        kind="system_config"
        apiPath={`/v2/system_configs/${configId}`}
        schemaName={`system_config.${configId}`}
        groups={groupsOf(schema)}
        record={data}
        revision={revision}
        save={(changes, more) =>
          updateSystemConfigSection({ ...api, ...more, path, body: { data: changes } })
        }
      />
    </Screen>
  )
}
