import { getAbout } from '@crosspoint/client'
import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { showBytes, showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { gregorianNow, showDuration, showTime } from '../../lib/times.ts'
import { FactTable } from '../../parts/fact-table.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'

const everyMilliseconds = 10_000

/** Whether the process that answers is ready for more, as load balancers ask it. */
export const useReadiness = () =>
  useAnswer(
    ['readiness'],
    async (signal) => {
      const response = await fetch('/readyz', { signal })
      return { isReady: response.ok, text: (await response.text()).trim() }
    },
    { every: everyMilliseconds },
  )

/** The process that answers just now. Behind a load balancer each answer may come from another one, and says from which. */
export const Health = () => {
  const { t } = useTranslation()
  const to = useTo()
  const about = useAnswer(
    ['about'],
    async (signal) => ({ answer: await getAbout({ ...api, signal }), at: gregorianNow() }),
    { every: everyMilliseconds },
  )
  const readiness = useReadiness()
  if (about.error && !about.data) return <FailureNote error={about.error} again={about.refetch} />
  if (!about.data) return <Loading />
  const { answer, at } = about.data
  const { version, used_memory, uptime_seconds, runtime } = answer.data
  const facts = [
    [t('system.node'), answer.node ?? ''],
    [t('system.version'), version ?? ''],
    [t('system.runtime'), typeof runtime === 'string' ? runtime : ''],
    [t('system.uptime'), typeof uptime_seconds === 'number' ? showDuration(uptime_seconds) : ''],
    [t('system.memory'), typeof used_memory === 'number' ? showBytes(used_memory) : ''],
    [
      t('system.tokens'),
      typeof answer.tokens?.remaining === 'number' ? showNumber(answer.tokens.remaining) : '',
    ],
  ] as const
  return (
    <Stack maw="40rem">
      <Group>
        <Title order={2} size="h4">
          {t('system.process')}
        </Title>
        {readiness.data && (
          <Badge color={readiness.data.isReady ? 'green' : 'red'}>
            {readiness.data.isReady ? t('system.ready') : t('system.notReady')}
          </Badge>
        )}
      </Group>
      {readiness.data && !readiness.data.isReady && <Text role="alert">{readiness.data.text}</Text>}
      <FactTable label={t('system.process')} facts={facts} />
      <Text size="xs" c="dimmed">
        {t('system.asOf', { time: showTime(at) })}
      </Text>
      <ToScreen to={to('system/settings/token_buckets')}>{t('system.toThrottling')}</ToScreen>
    </Stack>
  )
}
