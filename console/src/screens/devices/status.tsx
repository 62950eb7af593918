import { Group, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { crosspoint } from '../../lib/api.ts'
import { gregorianOf, showTime } from '../../lib/times.ts'
import { type DeviceRow, Registration, registrationPeriod } from './columns.tsx'

/** Whether a phone is registered just now, and when that was so. */
export const Status = ({ deviceId }: { deviceId: string }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const found = useAnswer(
    ['device', accountId, deviceId, 'status'],
    (signal) =>
      crosspoint.request<readonly DeviceRow[]>({
        path: `/v2/accounts/${accountId}/devices`,
        query: { with_status: 'true', filter_id: deviceId },
        signal,
      }),
    { every: registrationPeriod },
  )
  const row = found.data?.data[0]
  if (!row) return null
  return (
    <Group gap="xs">
      <Registration {...row} />
      {row.registered !== undefined && (
        <Text size="xs" c="dimmed">
          {t('devices.asOf', { time: showTime(gregorianOf(new Date(found.dataUpdatedAt)), timezone) })}
        </Text>
      )}
    </Group>
  )
}
