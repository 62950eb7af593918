import { Button, Code, Group, Select, Stack, Table, Tabs, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import {
  type AssignedPlan,
  assignedIn,
  monthlyOf,
  useAvailable,
  useServices,
  useSummary,
} from './assigned.ts'
import { CsvButton } from './csv-button.tsx'
import { InvoiceTable } from './invoice-table.tsx'
import { Quantities } from './quantities.tsx'
import { QuoteDialog, type Wanted } from './quote-dialog.tsx'
import { useSells } from './rights.ts'
import { Wide } from './wide.tsx'

const AssignedTable = ({
  assigned,
  nameOf,
  onRemove,
}: {
  assigned: readonly AssignedPlan[]
  nameOf: (id: string) => string
  onRemove?: (plan: AssignedPlan) => void
}) => {
  const { t } = useTranslation()
  const to = useTo()
  if (assigned.length === 0) return <Text>{t('money.noPlans')}</Text>
  return (
    <Wide label={t('money.assignedPlans')}>
      <Table aria-label={t('money.assignedPlans')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('money.plan')}</Table.Th>
            <Table.Th>{t('money.overrides')}</Table.Th>
            {onRemove && <Table.Th>{t('money.action')}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {assigned.map((plan) => (
            <Table.Tr key={plan.id}>
              <Table.Td dir="auto" style={{ overflowWrap: 'anywhere' }}>
                {nameOf(plan.id)}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                {plan.overrides ? <Code>{JSON.stringify(plan.overrides)}</Code> : t('none')}
              </Table.Td>
              {onRemove && (
                <Table.Td>
                  <Group gap="xs">
                    <ButtonToScreen
                      size="compact-sm"
                      variant="default"
                      aria-label={t('money.overrideOne', { name: nameOf(plan.id) })}
                      to={to(`money/plans/${plan.id}`)}
                    >
                      {t('money.overrideShort')}
                    </ButtonToScreen>
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`${t('money.unassign')}: ${nameOf(plan.id)}`}
                      onClick={() => onRemove(plan)}
                    >
                      {t('money.unassign')}
                    </Button>
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  )
}

const AssignForm = ({
  choices,
  onAssign,
}: {
  choices: readonly { value: string; label: string }[]
  onAssign: (id: string) => void
}) => {
  const { t } = useTranslation()
  const [chosen, choose] = useState<string | null>(null)
  if (choices.length === 0) return <Text size="sm">{t('money.noMorePlans')}</Text>
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (chosen !== null) onAssign(chosen)
      }}
    >
      <Group align="end" gap="sm">
        <Select
          label={t('money.planToAssign')}
          data={[...choices]}
          value={chosen}
          onChange={choose}
          searchable
        />
        <Button type="submit" disabled={chosen === null}>
          {t('money.quote')}
        </Button>
      </Group>
    </form>
  )
}

const useWanted = (assigned: readonly AssignedPlan[], nameOf: (id: string) => string) => {
  const [wanted, setWanted] = useState<Wanted>()
  return {
    wanted,
    forget: () => setWanted(undefined),
    add: (id: string) => {
      const plan = { id }
      setWanted({ doing: 'assign', plan, name: nameOf(id), after: [...assigned, plan] })
    },
    remove: (plan: AssignedPlan) =>
      setWanted({
        doing: 'unassign',
        plan,
        name: nameOf(plan.id),
        after: assigned.filter(({ id }) => id !== plan.id),
      }),
  }
}

/** The plans of an account, their combined price, and its details. */
export const AssignedPlans = () => {
  const { t } = useTranslation()
  const to = useTo()
  const { accountId } = usePlace()
  const sells = useSells()
  const services = useServices()
  const summary = useSummary()
  const available = useAvailable().data?.data ?? []
  const assigned = assignedIn(services.data?.data.plans ?? {})
  const nameOf = (id: string) => available.find((plan) => plan.id === id)?.name ?? id
  const { wanted, forget, add, remove } = useWanted(assigned, nameOf)
  const error = services.error ?? summary.error
  if (error) return <FailureNote error={error} again={services.error ? services.refetch : summary.refetch} />
  if (!services.data || !summary.data) return <Loading />
  const { invoices } = summary.data.data
  const apiPath = `/v2/accounts/${accountId}/services`
  return (
    <Screen
      title={t('money.part.plans')}
      actions={<CsvButton name="services.csv" path={`${apiPath}/summary`} />}
    >
      <Tabs defaultValue="merged" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="merged">{t('money.merged')}</Tabs.Tab>
          <Tabs.Tab value="assigned">{t('money.asAssigned')}</Tabs.Tab>
          <Tabs.Tab value="quantities">{t('money.quantities')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="merged">
          <Stack>
            <Title order={2} size="h4">
              {t('money.monthly', { amount: showMoney(monthlyOf(invoices)) })}
            </Title>
            {invoices.length === 0 && <Text>{t('money.noPlans')}</Text>}
            {invoices.map((invoice, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: bookkeepers stand in a fixed order
              <InvoiceTable key={index} invoice={invoice} />
            ))}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="assigned">
          <Stack>
            <AssignedTable assigned={assigned} nameOf={nameOf} {...(sells ? { onRemove: remove } : {})} />
            {sells && (
              <Group>
                <ButtonToScreen variant="default" to={to('money/overrides')}>
                  {t('money.accountOverrides.title')}
                </ButtonToScreen>
              </Group>
            )}
            {sells ? (
              <AssignForm
                choices={available
                  .filter(({ id }) => !assigned.some((plan) => plan.id === id))
                  .map(({ id, name }) => ({ value: id, label: name ?? id }))}
                onAssign={add}
              />
            ) : (
              <Text size="sm" c="dimmed">
                {t('money.plansAreOfReseller')}
              </Text>
            )}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="quantities">
          <Quantities quantities={services.data.data.quantities} />
        </Tabs.Panel>
      </Tabs>
      {wanted && (
        <QuoteDialog wanted={wanted} monthly={monthlyOf(invoices)} onDone={forget} onClose={forget} />
      )}
    </Screen>
  )
}
