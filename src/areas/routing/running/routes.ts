import { superduper } from '../../../auth/policies.ts'
import { post, type Route } from '../../../http/route.ts'
import type { RunningCallBook } from './operations.ts'
import { RunningCalls, RunningCallsAnswer } from './schema.ts'

export const runningCallRoutes = (running: RunningCallBook): Route[] => [
  post('/v2/edge/calls', {
    summary:
      'Reserve credit or a trunk for calls over carriers that begin, and say how long running ones may last',
    allow: superduper,
    price: { is: 'free' },
    body: RunningCalls,
    answers: RunningCallsAnswer,
    run: async ({ author, data }) => ({ calls: await running.take(author, data.calls) }),
  }),
]
