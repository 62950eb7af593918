import { createRate, type NewRate as NewRateRecord } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

export const NewRate = () => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <Screen title={t('rates.new')}>
      <NewRecord
        kind="rate"
        schemaName="rates"
        groups={groups}
        own={own}
        create={(record) => createRate({ ...api, body: { data: record as unknown as NewRateRecord } })}
        to={(id) => to(`rates/${id}`)}
      />
    </Screen>
  )
}
