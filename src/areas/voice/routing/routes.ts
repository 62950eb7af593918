import { anyToken } from '../../../auth/policies.ts'
import { lasting } from '../../../http/answer/answers.ts'
import { get, type Route } from '../../../http/route.ts'
import { forbidden } from '../../../lib/failure.ts'
import type { Routing } from './operations.ts'
import { maxAgeSeconds, questionIn } from './questions.rules.ts'
import { RouteAnswer } from './schema.ts'

export const routingRoutes = (routing: Routing): Route[] => [
  get('/v2/edge/route', {
    summary: 'Tell an edge proxy whom a call rings',
    allow: anyToken,
    price: { is: 'free' },
    query: {
      realm: 'The realm of whoever calls; without it, and without `account_id`, a carrier brings the call',
      account_id: 'Instead of the realm: the account that `/v2/edge` has said for whoever calls',
      number: 'Required: what was dialled',
      from_device: 'The id of the device that calls',
      caller: 'The number that the caller gives itself',
      caller_name: 'The name that a carrier states for the caller',
      privacy: '`full`: the caller does not want to be shown',
    },
    answers: RouteAnswer,
    fails: [forbidden],
    run: async ({ actor, query }) => lasting(await routing.route(actor, questionIn(query)), maxAgeSeconds),
  }),
]
