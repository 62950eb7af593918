import { getTask, startTask } from '@crosspoint/client'
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { type Task, taskIn } from '../../lib/tasks.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useActions } from '../tasks/actions.ts'
import { TaskForm } from '../tasks/new.tsx'
import { forReal } from '../tasks/operations.tsx'
import { progressMilliseconds, TaskProgress } from '../tasks/progress.tsx'
import { type Difference, DifferenceTable, useDifference } from './difference.tsx'

/** A file of rates, which is compared with the stored ones first. */
export const RateUpload = () => {
  const { t } = useTranslation()
  const to = useTo()
  const { actions, error, again } = useActions()
  const action = actions?.find((one) => one.category === 'rates' && one.action === 'import')
  return (
    <Screen title={t('rates.upload')}>
      <Text size="sm" c="dimmed" maw="60rem">
        {t('rates.uploadText')}
      </Text>
      {error && <FailureNote error={error} again={again} />}
      {!actions && !error && <Loading />}
      {actions && action && (
        <TaskForm actions={actions} fixed={action} opens={(id) => to(`rates/upload/${id}`)} />
      )}
    </Screen>
  )
}

/** Uploads what was compared, and shows how far it is. */
const Apply = ({ task, counts }: { task: Task; counts: Difference['counts'] }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const [isAsked, setIsAsked] = useState(false)
  const writes = counts.added + counts.changed
  const applying = useChange({
    touches: ['task'],
    run: async () => {
      const { id } = taskIn(await forReal(accountId, task))
      await startTask({ ...api, path: { account_id: accountId, task_id: id } })
      return id
    },
    done: (id) => go(to(`tasks/${id}`)),
  })
  return (
    <>
      <Button disabled={writes === 0} onClick={() => setIsAsked(true)}>
        {t('rates.apply', { count: writes })}
      </Button>
      <Confirm
        opened={isAsked}
        title={t('rates.applyTitle')}
        text={t('rates.applyText', { added: counts.added, changed: counts.changed })}
        action={t('rates.applyAction')}
        isDangerous={false}
        busy={applying.isPending}
        onConfirm={() => applying.mutate(undefined)}
        onClose={() => setIsAsked(false)}
      />
    </>
  )
}

const Compared = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const to = useTo()
  const found = useDifference(task)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { counts } = found.data
  return (
    <Stack>
      {counts.failed > 0 && (
        <Alert color="orange" title={t('rates.someInvalid', { count: counts.failed })}>
          {t('rates.invalidText')}
        </Alert>
      )}
      {counts.added + counts.changed === 0 && <Text>{t('rates.nothingChanges')}</Text>}
      <DifferenceTable difference={found.data} />
      <Group className="form-actions">
        <Apply task={task} counts={counts} />
        <ButtonToScreen variant="default" to={to('rates/upload')}>
          {t('rates.otherFile')}
        </ButtonToScreen>
      </Group>
    </Stack>
  )
}

/** The changes that a file would make, before it is uploaded. */
export const UploadPreview = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { taskId = '' } = useParams()
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
    <Screen title={t('rates.difference')}>
      {task.file_name && (
        <Text size="sm" c="dimmed">
          <bdi>{task.file_name}</bdi>
        </Text>
      )}
      {task.status === 'executing' ? (
        <Stack maw="40rem">
          <Text>{t('rates.comparing')}</Text>
          <TaskProgress task={task} hasBar />
        </Stack>
      ) : (
        <Compared task={task} />
      )}
    </Screen>
  )
}
