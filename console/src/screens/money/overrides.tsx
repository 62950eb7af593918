import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject } from '../../lib/json.ts'
import { useSchema } from '../../lib/schemas.ts'
import { Loading, Screen } from '../../parts/screen.tsx'
import { assignedIn, monthlyOf, useAvailable, useServices, useSummary } from './assigned.ts'
import { OverridesForm } from './overrides-form.tsx'
import { useSells } from './rights.ts'
import { partAt } from './values.ts'

/** Price overrides of one account for one plan. */
export const PlanOverrides = () => {
  const { t } = useTranslation()
  const { planId = '' } = useParams()
  const sells = useSells()
  const services = useServices()
  const summary = useSummary()
  const available = useAvailable()
  const { schema, error: schemaError } = useSchema('service_plans')
  const failed = [services, summary, available].find(({ error }) => error)
  if (failed) return <FailureNote error={failed.error} again={failed.refetch} />
  if (schemaError) return <FailureNote error={schemaError} />
  if (!services.data || !summary.data || !available.data || !schema) return <Loading />
  const assigned = assignedIn(services.data.data.plans)
  const plan = assigned.find(({ id }) => id === planId)
  const offered = available.data.data.find(({ id }) => id === planId)
  const name = offered?.name ?? planId
  const prices = partAt(offered, 'plan')
  return (
    <Screen title={t('money.overridesOf', { name })}>
      {!plan && <Text>{t('money.notAssigned')}</Text>}
      {plan && !sells && <Text>{t('money.plansAreOfReseller')}</Text>}
      {plan && sells && (
        <>
          <Text size="sm" c="dimmed">
            {t('money.overridesText')}
          </Text>
          <OverridesForm
            key={planId}
            current={plan.overrides ?? {}}
            sold={isObject(prices) ? prices : {}}
            schema={schema}
            monthly={monthlyOf(summary.data.data.invoices)}
            wantedWith={({ whole }) => {
              const next = { ...plan, overrides: whole }
              const after = assigned.map((one) => (one.id === planId ? next : one))
              return { doing: 'override', plan: next, name, after }
            }}
          />
        </>
      )}
    </Screen>
  )
}
