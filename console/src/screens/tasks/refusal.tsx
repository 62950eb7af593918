import { CrosspointError } from '@crosspoint/client'
import { Alert, Code, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type Json, valueAt } from '../../lib/json.ts'

const columnKeys = { missing_mandatory_fields: 'missing', unknown_fields: 'unknown' } as const

const listOf = (value: Json | undefined) => (Array.isArray(value) ? value.map(String).join(', ') : '')

/** The reason why no task was created; problems of the file appear next to their columns. */
export const Refusal = ({ error }: { error: unknown }) => {
  const { t } = useTranslation()
  const data = error instanceof CrosspointError ? error.envelope?.data : undefined
  const told = isObject(data) ? valueAt(data, 'attachment.type') : undefined
  const found = isObject(told) ? told : {}
  const lines = Object.entries(columnKeys).flatMap(([key, name]) => {
    const names = listOf(found[key])
    return names === '' ? [] : [`${t(`tasks.${name}`)}: ${names}`]
  })
  if (!(error instanceof CrosspointError) || lines.length === 0) return <FailureNote error={error} />
  return (
    <Alert color="red" role="alert" title={t('tasks.refused')}>
      <Stack gap={4}>
        {lines.map((line) => (
          <Text key={line} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {line}
          </Text>
        ))}
        {typeof found.message === 'string' && <Text size="sm">{found.message}</Text>}
        <Text size="xs">
          {t('failure.requestId')} <Code>{error.requestId}</Code>
        </Text>
      </Stack>
    </Alert>
  )
}
