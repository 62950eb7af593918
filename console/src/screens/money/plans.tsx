import {
  assignPlan,
  getServiceSummary,
  getServices,
  listAvailablePlans,
  quoteServices,
  unassignPlan,
} from '@crosspoint/client'
import { Button, Code, Group, Modal, Select, Stack, Table, Tabs, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, showJson } from '../../lib/json.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { ApiTab } from '../../parts/api-tab.tsx'
import { Loading } from '../../parts/screen.tsx'
import { type AssignedPlan, assignedIn } from './assigned.ts'
import { CsvButton } from './csv-button.tsx'
import { MoneyScreen } from './frame.tsx'
import { InvoiceTable } from './invoice-table.tsx'
import { useSells } from './rights.ts'
import { numberAt, partAt } from './values.ts'
import { Wide } from './wide.tsx'

/** What is about to be done with a plan, and what the account would have then. */
interface Wanted {
  plan: AssignedPlan
  name: string
  isNew: boolean
  after: readonly AssignedPlan[]
}

const useAvailable = () => {
  const { accountId } = usePlace()
  const query = { paginate: false }
  const found = useAnswer(['service_plan', accountId, 'available'], (signal) =>
    listAvailablePlans({ ...api, path: { account_id: accountId }, query, signal }),
  )
  return found.data?.data ?? []
}

const monthlyOf = (invoices: readonly object[]) =>
  invoices.reduce((sum, invoice) => {
    const summary = partAt(invoice, 'summary')
    return sum + (numberAt(summary, 'total') ?? numberAt(summary, 'recurring') ?? 0)
  }, 0)

const useAssigning = (onDone: () => void) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return useChange({
    touches: ['services', 'ledger'],
    run: ({ plan, isNew }: Wanted): Promise<unknown> => {
      const path = { account_id: accountId, plan_id: plan.id }
      return isNew ? assignPlan({ ...api, path, body: { data: {} } }) : unassignPlan({ ...api, path })
    },
    done: (_, { isNew }) => {
      tellDone(t(isNew ? 'money.assigned' : 'money.unassigned'))
      onDone()
    },
  })
}

/** What it would cost each month, before it is so. */
const QuoteDialog = ({
  wanted,
  monthly,
  onClose,
}: {
  wanted: Wanted
  monthly: number
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const quote = useAnswer(['services', accountId, 'quote', wanted.after], (signal) =>
    quoteServices({
      ...api,
      path: { account_id: accountId },
      body: { data: { add: wanted.after.map((plan) => ({ ...plan })) } },
      signal,
    }),
  )
  const assigning = useAssigning(onClose)
  const invoices = quote.data?.data.invoices ?? []
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={t(wanted.isNew ? 'money.assignTitle' : 'money.unassignTitle', { name: wanted.name })}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        {quote.error ? <FailureNote error={quote.error} again={quote.refetch} /> : null}
        {!quote.data && !quote.error && <Loading />}
        {quote.data && (
          <>
            <Text>
              {t('money.fromTo', { before: showMoney(monthly), after: showMoney(monthlyOf(invoices)) })}
            </Text>
            {invoices.length === 0 && <Text>{t('money.nothingPriced')}</Text>}
            {invoices.map((invoice, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a quote never changes
              <InvoiceTable key={index} invoice={invoice} />
            ))}
            <Text size="sm" c="dimmed">
              {t('money.nextBill')}
            </Text>
          </>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button
            color={wanted.isNew ? undefined : 'red'}
            disabled={!quote.data}
            loading={assigning.isPending}
            onClick={() => assigning.mutate(wanted)}
          >
            {t(wanted.isNew ? 'money.assign' : 'money.unassign')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

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
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-label={`${t('money.unassign')}: ${nameOf(plan.id)}`}
                    onClick={() => onRemove(plan)}
                  >
                    {t('money.unassign')}
                  </Button>
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

/** Category by category how many there are: what plans count. */
const Quantities = ({ quantities }: { quantities: object }) => {
  const { t } = useTranslation()
  const rows = (['account', 'cascade', 'manual'] as const).flatMap((where) =>
    Object.entries(partAt(quantities, where) ?? {}).flatMap(([category, items]) =>
      Object.entries(isObject(items) ? items : {}).map(([item, count]) => ({ where, category, item, count })),
    ),
  )
  if (rows.length === 0) return <Text>{t('money.nothingCounted')}</Text>
  return (
    <Wide label={t('money.quantities')}>
      <Table aria-label={t('money.quantities')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('money.category')}</Table.Th>
            <Table.Th>{t('money.item')}</Table.Th>
            <Table.Th>{t('money.counted')}</Table.Th>
            <Table.Th ta="end">{t('charges.quantity')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ where, category, item, count }) => (
            <Table.Tr key={`${where} ${category} ${item}`}>
              <Table.Td>{category}</Table.Td>
              <Table.Td>{item}</Table.Td>
              <Table.Td>{t(`money.countedWhere.${where}`)}</Table.Td>
              <Table.Td ta="end">{typeof count === 'number' ? showNumber(count) : showJson(count)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  )
}

const useWanted = (assigned: readonly AssignedPlan[], nameOf: (id: string) => string) => {
  const [wanted, setWanted] = useState<Wanted>()
  return {
    wanted,
    forget: () => setWanted(undefined),
    add: (id: string) => {
      const plan = { id }
      setWanted({ plan, name: nameOf(id), isNew: true, after: [...assigned, plan] })
    },
    remove: (plan: AssignedPlan) =>
      setWanted({
        plan,
        name: nameOf(plan.id),
        isNew: false,
        after: assigned.filter(({ id }) => id !== plan.id),
      }),
  }
}

/** What an account is sold: its plans, what they come to together, and why. */
export const AssignedPlans = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const sells = useSells()
  const services = useAnswer(['services', accountId], (signal) => getServices({ ...api, path, signal }))
  const summary = useAnswer(['services', accountId, 'summary'], (signal) =>
    getServiceSummary({ ...api, path, signal }),
  )
  const available = useAvailable()
  const assigned = assignedIn(services.data?.data.plans ?? {})
  const nameOf = (id: string) => available.find((plan) => plan.id === id)?.name ?? id
  const { wanted, forget, add, remove } = useWanted(assigned, nameOf)
  const error = services.error ?? summary.error
  if (error) return <FailureNote error={error} again={services.error ? services.refetch : summary.refetch} />
  if (!services.data || !summary.data) return <Loading />
  const { invoices } = summary.data.data
  const apiPath = `/v2/accounts/${accountId}/services`
  return (
    <MoneyScreen
      title={t('money.part.plans')}
      actions={<CsvButton name="services.csv" path={`${apiPath}/summary`} />}
    >
      <Tabs defaultValue="merged" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="merged">{t('money.merged')}</Tabs.Tab>
          <Tabs.Tab value="assigned">{t('money.asAssigned')}</Tabs.Tab>
          <Tabs.Tab value="quantities">{t('money.quantities')}</Tabs.Tab>
          <Tabs.Tab value="api">API</Tabs.Tab>
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
        <Tabs.Panel value="api">
          <ApiTab path={apiPath} />
        </Tabs.Panel>
      </Tabs>
      {wanted && <QuoteDialog wanted={wanted} monthly={monthlyOf(invoices)} onClose={forget} />}
    </MoneyScreen>
  )
}
