import { listServicePlans } from '@crosspoint/client'
import { Tags } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'

interface PlanRow {
  id: string
  name?: string
  description?: string
  category?: string
}

const useColumns = (): readonly Column<PlanRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('money.plan'),
      show: ({ id, name }) => (
        <span dir="auto">
          <ToScreen to={to(`money/service-plans/${id}`)}>{name ?? id}</ToScreen>
        </span>
      ),
    },
    { id: 'category', title: t('money.category'), isExtra: true, show: ({ category }) => category },
    {
      id: 'description',
      title: t('money.description'),
      isExtra: true,
      show: ({ description }) => <span dir="auto">{description}</span>,
    },
  ]
}

/** The plans that an account sells by. */
export const ServicePlanList = () => {
  const { t } = useTranslation()
  const { accountId, isPlainUser } = usePlace()
  const to = useTo()
  const path = { account_id: accountId }
  const columns = useColumns()
  return (
    <Screen
      title={t('money.part.servicePlans')}
      actions={
        !isPlainUser && (
          <ButtonToScreen to={to('money/service-plans/new')}>{t('money.newPlan')}</ButtonToScreen>
        )
      }
    >
      <RowList
        label={t('money.part.servicePlans')}
        queryKey={['service_plan', accountId]}
        list={listOf(listServicePlans, { path })}
        order={{ by: 'name', descending: false }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty
            Icon={Tags}
            text={t('money.noServicePlans')}
            next={!isPlainUser && { to: to('money/service-plans/new'), label: t('money.newPlan') }}
          />
        }
      />
    </Screen>
  )
}
