import { listMigrations } from '@crosspoint/client'
import { Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { ToScreen } from '../../../parts/link.tsx'
import { Loading } from '../../../parts/screen.tsx'

/** What can be put right in what accounts hold. */
export const MigrationList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const found = useAnswer(['migration', accountId], (signal) =>
    listMigrations({ ...api, path: { account_id: accountId }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  return (
    <>
      <Text size="sm" c="dimmed" mb="md">
        {t('system.migrationsText')}
      </Text>
      <Table aria-label={t('system.migrations')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('system.migration')}</Table.Th>
            <Table.Th>{t('system.does')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(found.data.data).map(([id, description]) => (
            <Table.Tr key={id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <ToScreen to={to(`system/migrations/${id}`)}>{id}</ToScreen>
              </Table.Td>
              <Table.Td>{description}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </>
  )
}
