import { getAllotments, getConsumedAllotments } from '@crosspoint/client'
import { Progress, Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, valueAt } from '../../lib/json.ts'
import { showDuration } from '../../lib/times.ts'
import { Loading } from '../../parts/screen.tsx'

const numberAt = (value: unknown, path: string) => {
  const found = isObject(value) ? valueAt(value, path) : undefined
  return typeof found === 'number' ? found : 0
}

/** The calls that are included, and how much of them is used in this cycle. */
export const Allotments = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const given = useAnswer(['limits', accountId, 'allotments'], (signal) =>
    getAllotments({ ...api, path, signal }),
  )
  const used = useAnswer(['limits', accountId, 'consumed'], (signal) =>
    getConsumedAllotments({ ...api, path, signal }),
  )
  const error = given.error ?? used.error
  if (error) return <FailureNote error={error} again={() => Promise.all([given.refetch(), used.refetch()])} />
  if (!given.data || !used.data) return <Loading />
  const keys = Object.keys(given.data.data)
  if (keys.length === 0) return <Text>{t('alerts.noAllotments')}</Text>
  const consumed = used.data.data
  return (
    <Stack>
      <Table aria-label={t('alerts.allotments')} maw="40rem">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('alerts.allotment')}</Table.Th>
            <Table.Th ta="end">{t('alerts.included')}</Table.Th>
            <Table.Th ta="end">{t('alerts.used')}</Table.Th>
            <Table.Th>{t('alerts.share')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => {
            const amount = numberAt(given.data.data, `${key}.amount`)
            const consumedSeconds = numberAt(consumed, `${key}.consumed`)
            return (
              <Table.Tr key={key}>
                <Table.Th scope="row">{key}</Table.Th>
                <Table.Td ta="end">{showDuration(amount)}</Table.Td>
                <Table.Td ta="end">{showDuration(consumedSeconds)}</Table.Td>
                <Table.Td>
                  <Progress
                    value={amount === 0 ? 100 : Math.min(100, (100 * consumedSeconds) / amount)}
                    aria-label={t('alerts.usedOf', { key })}
                  />
                </Table.Td>
              </Table.Tr>
            )
          })}
        </Table.Tbody>
      </Table>
    </Stack>
  )
}
