import type { RunOfAMigration } from '@crosspoint/client'
import { Badge, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { FailureNote } from '../../../lib/failures.tsx'
import { showTime } from '../../../lib/times.ts'
import { ToScreen } from '../../../parts/link.tsx'
import { Loading } from '../../../parts/screen.tsx'
import { useMigrations, useMigrationTexts } from './runs.ts'

const LastRun = ({ run }: { run: RunOfAMigration | undefined }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  if (!run) return t('system.run.never')
  if (run.status !== 'finished')
    return (
      <Badge variant="light" color="blue">
        {t(`system.run.status.${run.status}`)}
      </Badge>
    )
  return (
    <>
      {showTime(run.ended_time ?? run.requested_time, timezone)}
      {run.failed > 0 && (
        <Badge variant="light" color="red" ms="xs">
          {t('system.run.someFailed', { count: run.failed })}
        </Badge>
      )}
    </>
  )
}

/** The migrations, and when each has last run. */
export const MigrationList = () => {
  const { t } = useTranslation()
  const to = useTo()
  const textsOf = useMigrationTexts()
  const found = useMigrations()
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  return (
    <>
      <Text size="sm" c="dimmed">
        {t('system.migrationsText')}
      </Text>
      <Table aria-label={t('system.migrations')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('system.migration')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('system.does')}</Table.Th>
            <Table.Th>{t('system.run.title')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.data.map((migration) => {
            const { id, run } = migration
            const { title, text } = textsOf(migration)
            return (
              <Table.Tr key={id}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <ToScreen to={to(`system/migrations/${id}`)}>{title}</ToScreen>
                </Table.Td>
                <Table.Td visibleFrom="sm">{text}</Table.Td>
                <Table.Td>
                  <LastRun run={run} />
                </Table.Td>
              </Table.Tr>
            )
          })}
        </Table.Tbody>
      </Table>
    </>
  )
}
