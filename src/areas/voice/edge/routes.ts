import { anyToken } from '../../../auth/policies.ts'
import { lasting } from '../../../http/answer/answers.ts'
import { get, type Route } from '../../../http/route.ts'
import { forbidden } from '../../../lib/failure.ts'
import { maxAgeSeconds } from '../routing/questions.rules.ts'
import type { Edge } from './operations.ts'
import { questionIn } from './rules.ts'
import { EdgeAnswer } from './schema.ts'

export const edgeRoutes = (edge: Edge): Route[] => [
  get('/v2/edge', {
    summary: 'Tell an edge proxy what holds for a packet',
    allow: anyToken,
    price: { is: 'free' },
    query: {
      realm: 'Required: the realm the packet names',
      username: 'The SIP user name it names',
      address: 'Where it comes from: asks for a decision',
      user_agent: 'What sent it',
      credentials: { flag: 'For the operator alone: what the device signs in with' },
    },
    answers: EdgeAnswer,
    fails: [forbidden],
    run: async ({ actor, query }) => lasting(await edge.decide(actor, questionIn(query)), maxAgeSeconds),
  }),
]
