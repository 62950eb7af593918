import { listDevices, search } from '@crosspoint/client'
import { Phone, SearchX } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { listOf } from '../../lib/list-source.ts'
import type { ReadPage } from '../../lib/pages.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { type DeviceRow, registrationPeriod, useDeviceColumns } from './columns.tsx'

/** The phones of an account. */
export const DeviceList = () => {
  const { t } = useTranslation()
  const { accountId, isPlainUser } = usePlace()
  const path = { account_id: accountId }
  const to = useTo()
  const columns = useDeviceColumns()
  const [text, setText] = useState('')
  const find: ReadPage<DeviceRow> = (start_key, signal) =>
    search({ ...api, path, query: { t: 'device', q: 'name', v: text, start_key }, signal })
  return (
    <Screen
      title={t('screens.devices')}
      actions={!isPlainUser && <ButtonToScreen to={to('devices/new')}>{t('devices.new')}</ButtonToScreen>}
    >
      <SearchBox label={t('devices.search')} onSearch={setText} />
      <RowList<DeviceRow>
        label={t('screens.devices')}
        queryKey={['device', accountId, text]}
        {...(text === ''
          ? {
              list: listOf(listDevices, { path, query: { with_status: 'true' } }),
              order: { by: 'name', descending: false },
            }
          : { read: find })}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          text === '' ? (
            <Empty
              Icon={Phone}
              text={t('devices.empty')}
              next={!isPlainUser && { to: to('devices/new'), label: t('devices.new') }}
            />
          ) : (
            <Empty Icon={SearchX} text={t('devices.noneFound')} />
          )
        }
        every={registrationPeriod}
      />
    </Screen>
  )
}
