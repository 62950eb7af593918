import { createDevice } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useSearch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

export const NewDevice = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  // Preselects the user whose page led here.
  const owner = new URLSearchParams(useSearch()).get('owner_id')
  return (
    <Screen title={t('devices.new')}>
      <NewRecord
        kind="device"
        schemaName="devices"
        groups={groups}
        own={own}
        initial={owner === null ? {} : { owner_id: owner }}
        create={(record) =>
          createDevice({ ...api, path: { account_id: accountId }, body: { data: { name: '', ...record } } })
        }
        to={(id) => to(`devices/${id}`)}
      />
    </Screen>
  )
}
