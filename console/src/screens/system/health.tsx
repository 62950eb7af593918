import { getAbout } from '@crosspoint/client'
import { Alert, Badge, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showBytes, showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { gregorianNow, showClock, showSpan } from '../../lib/times.ts'
import { ToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'
import { Figure, FigureCard } from '../overview/card.tsx'
import { useMigrations } from './migrations/runs.ts'
import { useJobCount } from './work.tsx'

const everyMilliseconds = 10_000
const seenSeconds = 120

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

interface Process {
  node: string
  version: string
  runtime: string
  uptimeSeconds: number
  memoryBytes: number
  at: number
}

/** The processes that have answered lately. Behind a load balancer each answer may come from another one. */
const useProcesses = () => {
  const [seen, setSeen] = useState<readonly Process[]>([])
  const about = useAnswer(
    ['about', 'processes'],
    async (signal): Promise<Process> => {
      const { node = '', data } = await getAbout({ ...api, signal })
      const { version, runtime, uptime_seconds, used_memory } = data
      return {
        node,
        version,
        runtime,
        uptimeSeconds: uptime_seconds,
        memoryBytes: used_memory,
        at: gregorianNow(),
      }
    },
    { every: everyMilliseconds },
  )
  const latest = about.data
  useEffect(() => {
    if (!latest) return
    setSeen((before) => [
      latest,
      ...before.filter(({ node, at }) => node !== latest.node && latest.at - at < seenSeconds),
    ])
  }, [latest])
  const processes = seen.toSorted((one, other) => one.node.localeCompare(other.node))
  return { processes, error: about.error, again: about.refetch }
}

const Processes = ({ processes }: { processes: readonly Process[] }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return (
    <Stack component="section" aria-label={t('system.processes')} gap="xs">
      <Title order={2} size="h4">
        {t('system.processes')}
      </Title>
      <Table aria-label={t('system.process')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('system.node')}</Table.Th>
            <Table.Th>{t('system.version')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('system.runtime')}</Table.Th>
            <Table.Th ta="end">{t('system.uptime')}</Table.Th>
            <Table.Th ta="end">{t('system.memory')}</Table.Th>
            <Table.Th ta="end" visibleFrom="sm">
              {t('system.seen')}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {processes.map(({ node, version, runtime, uptimeSeconds, memoryBytes, at }) => (
            <Table.Tr key={node}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{node}</Table.Td>
              <Table.Td>{version}</Table.Td>
              <Table.Td visibleFrom="sm">{runtime}</Table.Td>
              <Table.Td ta="end">{showSpan(uptimeSeconds)}</Table.Td>
              <Table.Td ta="end">{showBytes(memoryBytes)}</Table.Td>
              <Table.Td ta="end" visibleFrom="sm">
                {showClock(at, timezone)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  )
}

/** The first screen of the operator: readiness, failed and waiting jobs, migrations, and the processes. */
export const Health = () => {
  const { t } = useTranslation()
  const to = useTo()
  const readiness = useReadiness()
  const failed = useJobCount('failed')
  const waiting = useJobCount('waiting')
  const migrations = useMigrations()
  const { processes, error, again } = useProcesses()
  if (error && processes.length === 0) return <FailureNote error={error} again={again} />
  if (processes.length === 0) return <Loading />
  return (
    <Stack gap="lg">
      {readiness.data && !readiness.data.isReady && (
        <Alert color="red" role="alert" title={t('system.notReady')}>
          {readiness.data.text}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, lg: 4 }}>
        <FigureCard title={t('system.server')} screen="system/settings" found={readiness}>
          {({ isReady }) => (
            <Badge size="lg" variant="light" color={isReady ? 'green' : 'red'}>
              {isReady ? t('system.ready') : t('system.notReady')}
            </Badge>
          )}
        </FigureCard>
        <FigureCard title={t('system.failedJobs')} screen="system/work?state=failed" found={failed}>
          {(count) => <Figure value={count} unit={t('system.failedJobsText')} />}
        </FigureCard>
        <FigureCard title={t('system.waitingJobs')} screen="system/work?state=waiting" found={waiting}>
          {(count) => <Figure value={count} unit={t('system.waitingJobsText')} />}
        </FigureCard>
        <FigureCard title={t('system.migrations')} screen="system/migrations" found={migrations}>
          {(all) => (
            <Figure
              value={showNumber(all.filter(({ run }) => run && run.status !== 'finished').length)}
              unit={t('system.migrationsRunning')}
            />
          )}
        </FigureCard>
      </SimpleGrid>
      <Processes processes={processes} />
      <Text size="sm">
        <ToScreen to={to('system/settings/token_buckets')}>{t('system.toThrottling')}</ToScreen>
      </Text>
    </Stack>
  )
}
