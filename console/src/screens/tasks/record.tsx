import { getTask } from '@crosspoint/client'
import { Group, Stack, Table, Tabs, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { type Task, taskIn } from '../../lib/tasks.ts'
import { showTime } from '../../lib/times.ts'
import { HistoryTab } from '../../parts/history-tab.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { SaveButton } from '../../parts/save-button.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useDescription } from './actions.ts'
import { TaskOperations } from './operations.tsx'
import { Output } from './output.tsx'
import { progressMilliseconds, TaskProgress, TaskState } from './progress.tsx'

const useFacts = (task: Task) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const time = (at: number | undefined) => at !== undefined && showTime(at, timezone)
  const other = (id: string | undefined) => id && <ToScreen to={to(`tasks/${id}`)}>{id}</ToScreen>
  const facts: Record<string, ReactNode> = {
    file: task.file_name,
    made: time(task.created),
    started: time(task.start_timestamp),
    ended: time(task.end_timestamp),
    retryOf: other(task.retry_of),
    continuationOf: other(task.continuation_of),
    continuedBy: other(task.continued_by),
    charged: task.accept_charges !== undefined && t(task.accept_charges ? 'yes' : 'no'),
  }
  return Object.entries(facts).flatMap(([key, value]) => (value ? [{ name: t(`tasks.${key}`), value }] : []))
}

const Facts = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const facts = useFacts(task)
  return (
    <Table aria-label={t('tasks.task')} layout="fixed" maw="60rem">
      <Table.Tbody>
        {facts.map(({ name, value }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="40%">
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <bdi>{value}</bdi>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** What a dry run says that its rows would cost. */
const Charges = ({ charges }: { charges: NonNullable<Task['charges']> }) => {
  const { t } = useTranslation()
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('tasks.charges')}
      </Title>
      {charges.length === 0 ? (
        <Text size="sm">{t('tasks.noCharges')}</Text>
      ) : (
        <Table aria-label={t('tasks.charges')} maw="60rem">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('tasks.payer')}</Table.Th>
              <Table.Th ta="end">{t('charges.today')}</Table.Th>
              <Table.Th ta="end">{t('charges.recurring')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {charges.map(({ account_id, name, today, recurring }) => (
              <Table.Tr key={account_id}>
                <Table.Td>
                  <bdi>{name}</bdi>
                </Table.Td>
                <Table.Td ta="end">{showMoney(today)}</Table.Td>
                <Table.Td ta="end">{showMoney(recurring)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  )
}

const Files = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = `/v2/accounts/${accountId}/tasks/${task.id}`
  const bytes = (what: string) => async (signal: AbortSignal) =>
    (await crosspoint.open({ path: `${path}/${what}`, accept: 'text/csv', signal })).body ??
    new Blob([]).stream()
  return (
    <Group>
      {task.csvs?.includes('in.csv') && (
        <SaveButton size="xs" name={task.file_name ?? `${task.id}-in.csv`} open={bytes('input')}>
          {t('tasks.saveInput')}
        </SaveButton>
      )}
      {task.csvs?.includes('out.csv') && (
        <SaveButton size="xs" name={`${task.category}-${task.action}-out.csv`} open={bytes('output')}>
          {t('tasks.saveOutput')}
        </SaveButton>
      )}
    </Group>
  )
}

const TaskTabs = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const apiPath = `/v2/accounts/${accountId}/tasks/${task.id}`
  return (
    <Tabs defaultValue="task" keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="task">{t('tasks.task')}</Tabs.Tab>
        <Tabs.Tab value="output">{t('tasks.output')}</Tabs.Tab>
        <Tabs.Tab value="history">{t('record.history')}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="task">
        <Stack gap="lg">
          <Facts task={task} />
          <Files task={task} />
          {task.charges && <Charges charges={task.charges} />}
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="output">
        <Output key={task.status} task={task} />
      </Tabs.Panel>
      <Tabs.Panel value="history">
        <HistoryTab apiPath={apiPath} />
      </Tabs.Panel>
    </Tabs>
  )
}

/** One task: progress, results of its rows, and operations. */
export const TaskRecord = () => {
  const { accountId } = usePlace()
  const { taskId = '' } = useParams()
  const describe = useDescription()
  const path = { account_id: accountId, task_id: taskId }
  const found = useAnswer(
    ['task', accountId, taskId],
    async (signal) => taskIn(await getTask({ ...api, path, signal })),
    { every: (task) => task?.status === 'executing' && progressMilliseconds },
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const task = found.data
  return (
    <Screen title={describe(task)} actions={<TaskOperations task={task} />}>
      <Stack gap="xs" maw="60rem">
        <Group>
          <TaskState task={task} />
        </Group>
        <TaskProgress task={task} hasBar />
      </Stack>
      <TaskTabs key={taskId} task={task} />
    </Screen>
  )
}
