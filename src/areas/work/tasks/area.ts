import { on } from '../../../storage/signal.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { quotasArea } from '../../accounts/quotas/area.ts'
import { area } from '../../area.ts'
import { taskFinishedNotice } from './notices.ts'
import { createTasks } from './operations.ts'
import { taskRoutes } from './routes.ts'
import { taskSettings } from './settings.ts'

export const tasksArea = area({
  name: 'tasks',
  kinds: { task: 'tasks' },
  events: {
    'task.failed':
      'Extra: a task ended, and no row was done, or it is unknown which rows were. Record: `task`. `after`: the task',
    'task.finished':
      'Extra: a task ended, and all or some of its rows were done. Record: `task`. `after`: the task',
  },
  describes: { tasks: 'Bulk tasks over CSV files.' },
  needs: { quotas: quotasArea },
  collects: ['taskActions'],
  settings: [taskSettings],
  notices: [taskFinishedNotice],
  create(tools, { quotas }, { taskActions: actions }) {
    const tasks = createTasks({ ...tools, actions, quotas })
    return {
      routes: taskRoutes(tasks),
      jobs: tasks.jobs,
      hears: [on(accountDeleted, tasks.removeWith)],
      stop: tasks.stop,
      adoptions: { task: tasks.adoption },
    }
  },
})
