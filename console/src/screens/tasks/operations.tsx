import { continueTask, deleteTask, retryTask, startTask, stopTask } from '@crosspoint/client'
import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { type Task, taskIn } from '../../lib/tasks.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'

const useTaskPath = (task: Task) => {
  const { accountId } = usePlace()
  return { account_id: accountId, task_id: task.id }
}

/** Starting asks whether rows may cost money, where a row could. */
const Start = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const path = useTaskPath(task)
  const [opened, { open, close }] = useDisclosure(false)
  const [mayCharge, setMayCharge] = useState(false)
  const starting = useChange({
    touches: ['task'],
    run: (accept_charges: boolean) => startTask({ ...api, path, query: { accept_charges } }),
    done: close,
  })
  const mayCost = !task.dry_run && task.total_count !== undefined
  return (
    <>
      <Button loading={starting.isPending} onClick={mayCost ? open : () => starting.mutate(false)}>
        {t('tasks.start')}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={t('tasks.startTitle')}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <Stack>
          <Text>{t('tasks.startText', { count: task.total_count ?? 0 })}</Text>
          <Checkbox
            label={t('tasks.mayCharge')}
            description={t('tasks.mayChargeHelp')}
            checked={mayCharge}
            onChange={({ currentTarget: { checked } }) => setMayCharge(checked)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('cancel')}
            </Button>
            <Button loading={starting.isPending} onClick={() => starting.mutate(mayCharge)}>
              {t('tasks.start')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}

const Stop = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const path = useTaskPath(task)
  const stopping = useChange({ touches: ['task'], run: () => stopTask({ ...api, path }) })
  return (
    <Button variant="default" loading={stopping.isPending} onClick={() => stopping.mutate(undefined)}>
      {t('tasks.stop')}
    </Button>
  )
}

/** A new task made of this one, which is opened. */
const Remake = ({ text, make }: { text: string; make: () => Promise<{ metadata?: unknown }> }) => {
  const { t } = useTranslation()
  const to = useTo()
  const [, go] = useLocation()
  const making = useChange({
    touches: ['task'],
    run: make,
    done: (answer) => {
      tellDone(t('created'))
      go(to(`tasks/${taskIn(answer).id}`))
    },
  })
  return (
    <Button variant="default" loading={making.isPending} onClick={() => making.mutate(undefined)}>
      {text}
    </Button>
  )
}

const Delete = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const path = useTaskPath(task)
  const to = useTo()
  return (
    <DeleteButton
      title={t('tasks.deleteTitle')}
      text={t('tasks.deleteText')}
      touches={['task']}
      run={() => deleteTask({ ...api, path })}
      to={to('tasks')}
    />
  )
}

/** The same file once more, and this time it counts, at the prices of the dry run if it has some. */
export const forReal = async (accountId: string, { id, category, action, file_name, charges }: Task) => {
  const tasks = `/v2/accounts/${accountId}/tasks`
  const input = await crosspoint.open({ path: `${tasks}/${id}/input`, accept: 'text/csv' })
  const { envelope } = await crosspoint.request({
    method: 'PUT',
    path: tasks,
    query: { category, action, file_name, ...(charges ? { quote_id: id } : {}) },
    headers: { 'content-type': 'text/csv' },
    body: await input.blob(),
  })
  return envelope
}

/** The operations of a task in its state. */
export const TaskOperations = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const path = useTaskPath(task)
  const { status, dry_run, failure_count = 0, continued_by } = task
  const isRunning = status === 'executing'
  const hasEnded = !isRunning && status !== 'pending'
  return (
    <>
      {status === 'pending' && <Start task={task} />}
      {isRunning && <Stop task={task} />}
      {hasEnded && dry_run && (
        <Remake text={t('tasks.forReal')} make={() => forReal(path.account_id, task)} />
      )}
      {hasEnded && failure_count > 0 && task.total_count !== undefined && (
        <Remake text={t('tasks.retry')} make={() => retryTask({ ...api, path })} />
      )}
      {status === 'stopped' && continued_by === undefined && (
        <Remake text={t('tasks.continue')} make={() => continueTask({ ...api, path })} />
      )}
      {!isRunning && <Delete task={task} />}
    </>
  )
}
