import {
  assignPlan,
  getServices,
  listAvailablePlans,
  type QuotedInvoice,
  quoteServices,
} from '@crosspoint/client'
import { Alert, Button, Group, Select, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'
import { QuoteTable } from '../../parts/charges.tsx'
import { Loading } from '../../parts/screen.tsx'
import { type AssignedPlan, assignedIn } from '../money/assigned.ts'

const sum = (invoices: readonly QuotedInvoice[], of: (summary: QuotedInvoice['summary']) => number) =>
  invoices.reduce((total, { summary }) => total + of(summary), 0)

/** The charges of the account with these plans, before anything is assigned. */
const Quote = ({ newId, plans }: { newId: string; plans: readonly AssignedPlan[] }) => {
  const { t } = useTranslation()
  const found = useAnswer(['services', newId, 'quote', plans], async (signal) => {
    const body = { data: { add: plans.map((plan) => ({ ...plan })) } }
    const { data } = await quoteServices({ ...api, path: { account_id: newId }, body, signal })
    return data.invoices
  })
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const invoices: readonly QuotedInvoice[] = found.data
  if (invoices.every(({ items, activation_charges: once }) => items.length + once.length === 0))
    return <Text>{t('accounts.wizard.free')}</Text>
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {t('accounts.wizard.price')}
      </Title>
      {invoices.map((invoice, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a quote never changes
        <QuoteTable key={index} invoice={invoice} />
      ))}
      <Text>{t('accounts.wizard.today', { amount: showMoney(sum(invoices, ({ today }) => today)) })}</Text>
      <Text>
        {t('accounts.wizard.recurring', {
          amount: showMoney(sum(invoices, ({ total, recurring }) => total ?? recurring)),
        })}
      </Text>
    </Stack>
  )
}

/** Assigns one of the plans of the account's reseller, its price first. */
export const PlanStep = ({ newId }: { newId: string }) => {
  const { t } = useTranslation()
  const to = useTo()
  const [, go] = useLocation()
  const [planId, setPlanId] = useState<string | null>(null)
  const path = { account_id: newId }
  const plans = useAnswer(['service_plan', newId, 'available'], (signal) =>
    listAvailablePlans({ ...api, path, query: { paginate: false }, signal }),
  )
  const services = useAnswer(['services', newId], (signal) => getServices({ ...api, path, signal }))
  const assigning = useChange({
    touches: ['services'],
    run: (id: string) => assignPlan({ ...api, path: { ...path, plan_id: id }, body: { data: {} } }),
    done: () => {
      tellDone(t('accounts.wizard.assigned'))
      go(to(`accounts/new/${newId}/numbers`))
    },
  })
  if (plans.error && !plans.data) return <FailureNote error={plans.error} again={plans.refetch} />
  if (!plans.data) return <Loading />
  if (services.error && !services.data) return <FailureNote error={services.error} again={services.refetch} />
  if (!services.data) return <Loading />
  const all = plans.data.data
  const assigned = assignedIn(services.data.data.plans)
  const nameOf = (id: string) => all.find((plan) => plan.id === id)?.name ?? id
  const choices = all
    .filter(({ id }) => !assigned.some((plan) => plan.id === id))
    .map(({ id }) => ({ value: id, label: nameOf(id) }))
  return (
    <Stack>
      <Text>{t('accounts.wizard.planText')}</Text>
      {assigned.length > 0 && (
        <Text dir="auto">
          {t('accounts.wizard.planNow', { plans: assigned.map(({ id }) => nameOf(id)).join(', ') })}
        </Text>
      )}
      {choices.length === 0 ? (
        <Alert color="gray">{t(all.length === 0 ? 'accounts.wizard.noPlans' : 'money.noMorePlans')}</Alert>
      ) : (
        <>
          <Select
            label={t('accounts.wizard.choosePlan')}
            data={choices}
            value={planId}
            onChange={setPlanId}
            searchable
          />
          {planId !== null && <Quote key={planId} newId={newId} plans={[...assigned, { id: planId }]} />}
          <Group>
            <Button
              disabled={planId === null}
              loading={assigning.isPending}
              onClick={() => planId !== null && assigning.mutate(planId)}
            >
              {t('accounts.wizard.assign')}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  )
}
