import { Code, Stack, Text, Timeline } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../frame/place.tsx'
import { useAnswer } from '../lib/answers.ts'
import { crosspoint } from '../lib/api.ts'
import { FailureNote } from '../lib/failures.tsx'
import { isObject, type Json, showJson } from '../lib/json.ts'
import { showTime } from '../lib/times.ts'
import { labelOf } from './fields.tsx'
import { Loading } from './screen.tsx'

interface Change {
  path: string
  from?: Json
  to?: Json
}

interface Entry {
  id: string
  at: number
  action: string
  actor: { type: string; id?: string }
  changes?: readonly Change[]
}

const isEntry = (value: unknown): value is Entry => isObject(value) && typeof value.id === 'string'

/** From what to what each field was changed. */
export const Changes = ({ changes }: { changes: readonly Change[] }) => (
  <Stack gap={2}>
    {changes.map(({ path, from, to }) => (
      <Text key={path} size="sm" style={{ overflowWrap: 'anywhere' }}>
        {labelOf(path)}: {from !== undefined && <Code>{showJson(from)}</Code>} →{' '}
        {to !== undefined && <Code>{showJson(to)}</Code>}
      </Text>
    ))}
  </Stack>
)

/** Who changed a record, when and how: the audit of its path. */
export const HistoryTab = ({ apiPath }: { apiPath: string }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const found = useAnswer(['audit', apiPath], (signal) =>
    crosspoint.request({ method: 'GET', path: `${apiPath}/audit`, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const entries = Array.isArray(found.data.data) ? found.data.data.filter(isEntry) : []
  return (
    <Timeline bulletSize={14}>
      {entries.map(({ id, at, action, actor, changes = [] }) => (
        <Timeline.Item key={id} title={t(`history.${action}`, { defaultValue: action })}>
          <Text size="xs" c="dimmed">
            {showTime(at, timezone)} · {t(`actor.${actor.type}`, { defaultValue: actor.type })}
          </Text>
          <Changes changes={changes} />
        </Timeline.Item>
      ))}
    </Timeline>
  )
}
