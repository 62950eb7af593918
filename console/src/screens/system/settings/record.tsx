import { getSystemConfigSection, updateSystemConfigSection } from '@crosspoint/client'
import { Code, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { isPlain, type Schema, useSchema } from '../../../lib/schemas.ts'
import { type FieldGroup, labelOf } from '../../../parts/fields.tsx'
import { RecordFormTabs } from '../../../parts/record-form.tsx'
import { Loading, Screen } from '../../../parts/screen.tsx'
import { textKey } from './documents.ts'

/** Simple values first, then objects with their own fields as groups, then what only JSON can show. */
const groupsOf = (schema: Schema): readonly FieldGroup[] => {
  const json: string[] = []
  const groupsIn = ({ properties = {} }: Schema, path: readonly string[]): readonly FieldGroup[] => {
    const plain: string[] = []
    const inner: FieldGroup[] = []
    for (const [name, part] of Object.entries(properties)) {
      const own = [...path, name]
      if (isPlain(part)) plain.push(own.join('.'))
      // A schema with a title belongs to another record of the API.
      else if (part.properties && part.title === undefined) inner.push(...groupsIn(part, own))
      else json.push(own.join('.'))
    }
    const title = path.map((_, at) => labelOf(path.slice(0, at + 1).join('.'))).join(' – ')
    const group = { title: title === '' ? 'system.values' : title, fields: plain }
    return [...(plain.length > 0 ? [group] : []), ...inner]
  }
  const groups = groupsIn(schema, [])
  return json.length > 0 ? [...groups, { title: 'system.nested', fields: json }] : groups
}

/** One document of settings: the values of its section `default`, which the running server follows. */
export const SettingsRecord = () => {
  const { t } = useTranslation()
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
    <Screen title={t(`${textKey(configId)}.title`, { defaultValue: configId })}>
      <Text c="dimmed" size="sm">
        {t(`${textKey(configId)}.text`, { defaultValue: schema.description ?? '' })} <Code>{configId}</Code>
      </Text>
      <RecordFormTabs
        key={configId}
        kind="system_config"
        apiPath={`/v2/system_configs/${configId}`}
        schemaName={`system_config.${configId}`}
        groups={groupsOf(schema)}
        record={data}
        revision={revision}
        showsDefaults
        save={(changes, more) =>
          updateSystemConfigSection({ ...api, ...more, path, body: { data: changes } })
        }
      />
    </Screen>
  )
}
