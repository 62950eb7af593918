import { area } from '../area.ts'
import { createWorkDesk } from './operations.ts'
import { workRoutes } from './routes.ts'

/** What waits to be done after commits, and how it ended: for operators. */
export const workArea = area({
  name: 'work',
  describes: { work: 'What waits to be done after commits, and how it ended: for operators.' },
  create: (tools) => ({ routes: workRoutes(createWorkDesk(tools)) }),
})
