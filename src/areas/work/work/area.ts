import { area } from '../../area.ts'
import { workRoutes } from './routes.ts'

export const workArea = area({
  name: 'work',
  kinds: { work: 'background jobs that ended, or were requested again' },
  describes: { work: 'Background jobs and their results, for operators.' },
  create: ({ queue }) => ({ routes: workRoutes(queue) }),
})
