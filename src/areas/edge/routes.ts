import { hash } from 'node:crypto'
import { anyToken } from '../../auth/policies.ts'
import { answer, RawJson } from '../../http/answer/answers.ts'
import { get, type Route } from '../../http/route.ts'

import type { Edge } from './operations.ts'
import { questionIn } from './rules.ts'
import { EdgeAnswer } from './schema.ts'

/** How long an edge may go on without asking again, and so how late it may hear of a change. */
const maxAgeSeconds = 60

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
    },
    answers: EdgeAnswer,
    fails: ['forbidden'],
    run: async ({ actor, query }) => {
      const data = JSON.stringify(await edge.decide(actor, questionIn(query)))
      return answer({
        data: new RawJson(data),
        // Not a secret, only a name for this content: the fast digest does.
        etag: hash('md5', data, 'hex'),
        headers: {
          'cache-control': `private, max-age=${maxAgeSeconds}`,
          vary: 'X-Auth-Token, Authorization',
        },
      })
    },
  }),
]
