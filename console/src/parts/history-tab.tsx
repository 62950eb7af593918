import { Button, Code, Stack, Text, Timeline } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../frame/place.tsx'
import { type ActorFacts, useActorName } from '../lib/actors.ts'
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
  actor: ActorFacts
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

const Line = ({ entry: { at, action, actor, changes = [] }, ...rest }: { entry: Entry }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const who = useActorName(actor)
  return (
    <Timeline.Item title={t(`history.${action}`, { defaultValue: action })} {...rest}>
      <Text size="xs" c="dimmed">
        {showTime(at, timezone)} · <bdi>{who}</bdi>
      </Text>
      <Changes changes={changes} />
    </Timeline.Item>
  )
}

const useHistory = (apiPath: string) =>
  useInfiniteQuery({
    queryKey: ['audit', apiPath],
    queryFn: ({ pageParam, signal }) =>
      crosspoint.request({
        path: `${apiPath}/audit`,
        query: { ...(pageParam === undefined ? {} : { start_key: pageParam }) },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ envelope }) => envelope.next_start_key,
  })

/** Who changed a record, when and how: the audit of its path, newest first, page by page. */
export const HistoryTab = ({ apiPath }: { apiPath: string }) => {
  const { t } = useTranslation()
  const found = useHistory(apiPath)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const entries = found.data.pages.flatMap(({ data }) => (Array.isArray(data) ? data.filter(isEntry) : []))
  return (
    <Stack align="flex-start">
      <Timeline bulletSize={14}>
        {entries.map((entry) => (
          <Line key={entry.id} entry={entry} />
        ))}
      </Timeline>
      {found.error && <FailureNote error={found.error} />}
      {found.hasNextPage && (
        <Button
          variant="default"
          loading={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {t('history.more')}
        </Button>
      )}
    </Stack>
  )
}
