import { Badge, Group } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { showNumber } from '../../lib/amounts.ts'
import type { Task } from '../../lib/tasks.ts'
import { WorkProgress } from '../../parts/progress.tsx'

const colors: Record<Task['status'], string> = {
  pending: 'gray',
  executing: 'blue',
  stopped: 'orange',
  success: 'green',
  partial: 'orange',
  failure: 'red',
  internal_error: 'red',
}

/** The polling interval of a running task: its rows send no events. */
export const progressMilliseconds = 1_000

export const TaskState = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  return (
    <Group gap={4} wrap="nowrap">
      <Badge color={colors[task.status]}>{t(`tasks.status.${task.status}`)}</Badge>
      {task.dry_run && (
        <Badge variant="default" tt="none">
          {t('tasks.dryRun')}
        </Badge>
      )}
    </Group>
  )
}

const countsOf = ({ success_count = 0, failure_count = 0 }: Task) => ({
  done: success_count + failure_count,
  failed: failure_count,
})

/** How many rows are done and how many of them failed; while it runs, how fast, and how long it will still take. */
export const TaskProgress = ({ task, hasBar = false }: { task: Task; hasBar?: boolean }) => {
  const { t } = useTranslation()
  const { total_count: total, estimated_seconds_left: left, status } = task
  const { done, failed } = countsOf(task)
  return (
    <WorkProgress
      label={t('tasks.progress')}
      done={done}
      total={total}
      words={[
        total === undefined
          ? t('tasks.rowsDone', { count: done, shown: showNumber(done) })
          : t('tasks.rowsOf', { done: showNumber(done), total: showNumber(total) }),
        ...(failed > 0 ? [t('tasks.rowsFailed', { count: failed, shown: showNumber(failed) })] : []),
      ]}
      isRunning={status === 'executing'}
      hasFailures={failed > 0}
      hasBar={hasBar}
      knownRate={left && total !== undefined ? (total - done) / left : undefined}
    />
  )
}
