import { listTasks } from '@crosspoint/client'
import { ListTodo } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { forget } from '../../lib/answers.ts'
import { listOf } from '../../lib/list-source.ts'
import type { Task } from '../../lib/tasks.ts'
import { showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { useDescription } from './actions.ts'
import { progressMilliseconds, TaskProgress, TaskState } from './progress.tsx'

const useColumns = (): readonly Column<Task>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const describe = useDescription()
  return [
    {
      id: 'what',
      title: t('tasks.what'),
      show: (task) => <ToScreen to={to(`tasks/${task.id}`)}>{describe(task)}</ToScreen>,
    },
    { id: 'state', title: t('tasks.state'), show: (task) => <TaskState task={task} /> },
    { id: 'progress', title: t('tasks.progress'), show: (task) => <TaskProgress task={task} /> },
    {
      id: 'file',
      title: t('tasks.file'),
      isExtra: true,
      show: ({ file_name }) => file_name && <bdi>{file_name}</bdi>,
    },
    {
      id: 'made',
      title: t('tasks.made'),
      isExtra: true,
      show: ({ created }) => showTime(created, timezone),
    },
  ]
}

/** Polls while one of the tasks runs. */
const useRunning = () => {
  const [isRunning, setIsRunning] = useState(false)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => void forget('task'), progressMilliseconds)
    return () => clearInterval(timer)
  }, [isRunning])
  return setIsRunning
}

/** The bulk work of an account, newest first. */
export const TaskList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const tasks = listOf(listTasks, { path: { account_id: accountId } })
  const to = useTo()
  const columns = useColumns()
  const tellRunning = useRunning()
  return (
    <Screen
      title={t('screens.tasks')}
      actions={<ButtonToScreen to={to('tasks/new')}>{t('tasks.new')}</ButtonToScreen>}
    >
      <RowList
        label={t('screens.tasks')}
        queryKey={['task', accountId]}
        list={{
          ...tasks,
          page: async (query, signal) => {
            const page = await tasks.page(query, signal)
            // Newest first: what runs is on the first page, as a rule.
            if (query.start_key === undefined) {
              tellRunning((page.data ?? []).some(({ status }) => status === 'executing'))
            }
            return page
          },
        }}
        order={{ by: 'made', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty
            Icon={ListTodo}
            text={t('tasks.empty')}
            next={{ to: to('tasks/new'), label: t('tasks.new') }}
          />
        }
      />
    </Screen>
  )
}
