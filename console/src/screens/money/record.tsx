import { deleteServicePlan, getServicePlan, updateServicePlan } from '@crosspoint/client'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

const DeletePlan = ({ name }: { name: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { planId = '' } = useParams()
  const to = useTo()
  return (
    <DeleteButton
      title={t('money.deletePlanTitle')}
      text={t('money.deletePlanText', { name })}
      touches={['service_plan']}
      run={() => deleteServicePlan({ ...api, path: { account_id: accountId, service_plan_id: planId } })}
      to={to('money/service-plans')}
    />
  )
}

/** One plan that an account sells by. */
export const ServicePlanRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { planId = '' } = useParams()
  const path = { account_id: accountId, service_plan_id: planId }
  const found = useAnswer(['service_plan', accountId, planId], (signal) =>
    getServicePlan({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen title={data.name} actions={<DeletePlan name={data.name} />}>
      <Text size="sm" c="dimmed">
        {t('money.nextBill')}
      </Text>
      <RecordFormTabs
        key={planId}
        kind="service_plan"
        apiPath={`/v2/accounts/${accountId}/service_plans/${planId}`}
        schemaName="service_plans"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateServicePlan({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
