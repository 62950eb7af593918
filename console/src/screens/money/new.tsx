import { createServicePlan } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

export const NewServicePlan = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  return (
    <Screen title={t('money.newPlan')}>
      <NewRecord
        kind="service_plan"
        schemaName="service_plans"
        groups={groups}
        own={own}
        create={(record) =>
          createServicePlan({
            ...api,
            path: { account_id: accountId },
            body: { data: { name: '', plan: {}, ...record } },
          })
        }
        to={(id) => to(`money/service-plans/${id}`)}
      />
    </Screen>
  )
}
