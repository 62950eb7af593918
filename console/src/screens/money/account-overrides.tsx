import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type JsonObject, jsonObjectOf, withChanges } from '../../lib/json.ts'
import { useSchema } from '../../lib/schemas.ts'
import { Loading, Screen } from '../../parts/screen.tsx'
import {
  type AssignedPlan,
  assignedIn,
  monthlyOf,
  useAvailable,
  useServices,
  useSummary,
} from './assigned.ts'
import { OverridesForm } from './overrides-form.tsx'
import { useSells } from './rights.ts'
import { numberAt, partAt } from './values.ts'

const pricesIn = (part: unknown): JsonObject => {
  const prices = partAt(part, 'plan')
  return isObject(prices) ? prices : {}
}

const priorityOf = (plan: JsonObject) => numberAt(partAt(plan, 'merge'), 'priority') ?? 0

/** Lays prices over others: an item counts as a whole, as the plan that comes last has it. */
const withItemsOf = (prices: JsonObject, plan: JsonObject) => {
  const laid = { ...prices }
  for (const [category, items] of Object.entries(pricesIn(plan))) {
    const before = laid[category]
    if (isObject(items)) laid[category] = { ...(isObject(before) ? before : {}), ...items }
  }
  return laid
}

/** The prices of all plans, each with what holds in its place, in the order in which they count. */
const soldBy = (assigned: readonly AssignedPlan[], offered: readonly { id: string }[]) =>
  assigned
    .map(({ id, overrides }) => {
      const plan = jsonObjectOf(offered.find((one) => one.id === id) ?? {})
      return { id, plan: withChanges(plan, isObject(overrides) ? overrides : {}) }
    })
    .toSorted((a, b) => priorityOf(a.plan) - priorityOf(b.plan) || (a.id < b.id ? -1 : 1))
    .reduce<JsonObject>((prices, { plan }) => withItemsOf(prices, plan), {})

/** Price overrides of one account for all of its plans. */
export const AccountOverrides = () => {
  const { t } = useTranslation()
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
    <Screen title={t('money.accountOverrides.title')}>
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
    </Screen>
  )
}
