import { listUserDevices } from '@crosspoint/client'
import { Group, Stack } from '@mantine/core'
import { Phone } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { RowList } from '../../parts/row-list.tsx'
import { type DeviceRow, registrationPeriod, useDeviceColumns } from '../devices/columns.tsx'

/** The phones that a user owns. */
export const DevicesTab = ({ userId }: { userId: string }) => {
  const { t } = useTranslation()
  const { accountId, isPlainUser } = usePlace()
  const to = useTo()
  const columns = useDeviceColumns()
  const path = { account_id: accountId, user_id: userId }
  return (
    <Stack>
      {!isPlainUser && (
        <Group>
          <ButtonToScreen to={to(`devices/new?owner_id=${userId}`)} variant="default">
            {t('users.newPhone')}
          </ButtonToScreen>
        </Group>
      )}
      <RowList<DeviceRow>
        label={t('users.phones')}
        queryKey={['device', accountId, 'of', userId]}
        list={listOf(listUserDevices, { path, query: { with_status: 'true' } })}
        order={{ by: 'name', descending: false }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty Icon={Phone} text={t('users.noPhones')} />}
        every={registrationPeriod}
      />
    </Stack>
  )
}
