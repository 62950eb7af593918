import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type JsonObject, withChanges } from '../../lib/json.ts'
import { useSchema } from '../../lib/schemas.ts'
import { ApiTab } from '../../parts/api-tab.tsx'
import { Loading } from '../../parts/screen.tsx'
import {
  type AssignedPlan,
  assignedIn,
  monthlyOf,
  useAvailable,
  useServices,
  useSummary,
} from './assigned.ts'
import { MoneyScreen } from './frame.tsx'
import { OverridesForm } from './overrides-form.tsx'
import { useSells } from './rights.ts'
import { Unfold } from './unfold.tsx'
import { partAt } from './values.ts'

const pricesIn = (part: unknown): JsonObject => {
  const prices = partAt(part, 'plan')
  return isObject(prices) ? prices : {}
}

/** The prices of all plans, each with what holds in its place. */
const soldBy = (assigned: readonly AssignedPlan[], offered: readonly { id: string }[]) =>
  assigned.reduce<JsonObject>((prices, { id, overrides }) => {
    const plan = pricesIn(offered.find((one) => one.id === id))
    return withChanges(withChanges(prices, plan), pricesIn(overrides))
  }, {})

/** What holds for one account in place of what any of its plans says. */
export const AccountOverrides = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const sells = useSells()
  const services = useServices()
  const summary = useSummary()
  const available = useAvailable()
  const { schema, error: schemaError } = useSchema('service_plans')
  const failed = [services, summary, available].find(({ error }) => error)
  if (failed) return <FailureNote error={failed.error} again={failed.refetch} />
  if (schemaError) return <FailureNote error={schemaError} />
  if (!services.data || !summary.data || !available.data || !schema) return <Loading />
  const { plans, overrides } = services.data.data
  const assigned = assignedIn(plans)
  return (
    <MoneyScreen title={t('money.accountOverrides.title')}>
      {sells ? (
        <>
          <Text size="sm" c="dimmed">
            {t('money.accountOverrides.text')}
          </Text>
          <OverridesForm
            current={isObject(overrides) ? overrides : {}}
            sold={soldBy(assigned, available.data.data)}
            schema={schema}
            monthly={monthlyOf(summary.data.data.invoices)}
            wantedWith={(typed) => ({ doing: 'overrideAll', typed, after: assigned })}
          />
        </>
      ) : (
        <Text>{t('money.plansAreOfReseller')}</Text>
      )}
      <Unfold label="API">
        <ApiTab path={`/v2/accounts/${accountId}/services/overrides`} />
      </Unfold>
    </MoneyScreen>
  )
}
