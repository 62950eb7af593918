import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import {
  changesBetween,
  isObject,
  type Json,
  type JsonObject,
  recordOf,
  withChanges,
} from '../../lib/json.ts'
import { type Schema, useSchema } from '../../lib/schemas.ts'
import { ApiTab } from '../../parts/api-tab.tsx'
import { type FieldGroup, Fields, type RecordForm, valuesFor } from '../../parts/fields.tsx'
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
import { PriceList } from './plan-items.tsx'
import { QuoteDialog, type Wanted } from './quote-dialog.tsx'
import { useSells } from './rights.ts'
import { Unfold } from './unfold.tsx'
import { partAt } from './values.ts'

const groups: readonly FieldGroup[] = [
  {
    title: 'money.planRest',
    fields: [
      'merge.strategy',
      'merge.priority',
      'bookkeeper.type',
      'bookkeeper.id',
      'bookkeeper.vendor_id',
      'ratedeck.id',
    ],
  },
  { title: 'money.planMore', fields: ['limits', 'applications', 'im'] },
]

/** An object that says nothing holds in place of nothing. */
const withoutIdle = (record: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(record).flatMap(([key, value]): (readonly [string, Json | undefined])[] => {
      if (!isObject(value)) return [[key, value]]
      const left = withoutIdle(value)
      return Object.keys(left).length === 0 ? [] : [[key, left]]
    }),
  )

interface OverridesProps {
  plan: AssignedPlan
  name: string
  /** What the plan itself says: prices by category and item. */
  sold: Json
  schema: Schema
  /** All that the account is assigned. */
  assigned: readonly AssignedPlan[]
  /** Dollars each month as things are. */
  monthly: number
}

/**
 * The form, filled anew when somebody else was faster and nothing is typed. What is typed is put onto what holds by then:
 * an assignment has no revision to be held against.
 */
const useOverrides = (current: JsonObject) => {
  const [base, setBase] = useState(current)
  const [seen, setSeen] = useState(current)
  const form: RecordForm = useForm<JsonObject>({ initialValues: valuesFor(current, groups) })
  const fill = (overrides: JsonObject) => {
    setBase(overrides)
    form.setInitialValues(valuesFor(overrides, groups))
    form.reset()
  }
  useEffect(() => {
    if (JSON.stringify(current) === JSON.stringify(seen)) return
    setSeen(current)
    if (!form.isDirty()) fill(current)
  })
  return {
    form,
    changed: (values: JsonObject) =>
      withoutIdle(withChanges(current, changesBetween(recordOf(base), recordOf(values)))),
    /** What was saved, with what others have set meanwhile, is what changes are reckoned from, before it is read again. */
    saved: fill,
  }
}

const OverridesForm = ({ plan, name, sold, schema, assigned, monthly }: OverridesProps) => {
  const { t } = useTranslation()
  const [wanted, setWanted] = useState<Wanted>()
  const { form, changed, saved } = useOverrides(plan.overrides ?? {})
  const prices = form.getInputProps('plan')
  const ask = (values: JsonObject) => {
    const next = { ...plan, overrides: changed(values) }
    const after = assigned.map((one) => (one.id === plan.id ? next : one))
    setWanted({ doing: 'override', plan: next, name, after })
  }
  return (
    <form onSubmit={form.onSubmit(ask)} noValidate>
      <Stack gap="xl">
        <Stack gap="sm" component="section" aria-label={t('money.prices')} maw="60rem">
          <Title order={2} size="h4">
            {t('money.prices')}
          </Title>
          <PriceList value={prices.value} sold={sold} schema={schema} onChange={prices.onChange} />
        </Stack>
        <Fields form={form} schema={schema} groups={groups} />
        <Group className="form-actions">
          <Button type="submit" disabled={!form.isDirty()}>
            {t('money.quote')}
          </Button>
          <Button variant="default" disabled={!form.isDirty()} onClick={() => form.reset()}>
            {t('discard')}
          </Button>
        </Group>
      </Stack>
      {wanted && (
        <QuoteDialog
          wanted={wanted}
          monthly={monthly}
          onDone={() => {
            setWanted(undefined)
            saved(wanted.plan.overrides ?? {})
          }}
          onClose={() => setWanted(undefined)}
        />
      )}
    </form>
  )
}

/** What holds for one account in place of what a plan says. */
export const PlanOverrides = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
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
    <MoneyScreen title={t('money.overridesOf', { name })}>
      {!plan && <Text>{t('money.notAssigned')}</Text>}
      {plan && !sells && <Text>{t('money.plansAreOfReseller')}</Text>}
      {plan && sells && (
        <>
          <Text size="sm" c="dimmed">
            {t('money.overridesText')}
          </Text>
          <OverridesForm
            key={planId}
            plan={plan}
            name={name}
            sold={isObject(prices) ? prices : {}}
            schema={schema}
            assigned={assigned}
            monthly={monthlyOf(summary.data.data.invoices)}
          />
        </>
      )}
      <Unfold label="API">
        <ApiTab path={`/v2/accounts/${accountId}/services`} />
      </Unfold>
    </MoneyScreen>
  )
}
