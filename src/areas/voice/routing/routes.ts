import { anyToken, superduper } from '../../../auth/policies.ts'
import { lasting } from '../../../http/response/responses.ts'
import { get, post, type Route } from '../../../http/route.ts'
import { forbidden, invalid, requiredField } from '../../../lib/failure.ts'
import type { Routing } from './operations.ts'
import { listAt, maxAgeSeconds, routeQueryIn } from './rules.ts'
import type { RunningCallRegister } from './running.operations.ts'
import { maxCalls, RouteAnswer, RunningCalls, RunningCallsAnswer } from './schema.ts'

export const routingRoutes = (routing: Routing): Route[] => [
  get('/v2/edge/route', {
    summary: 'Route a call for an edge',
    allow: anyToken,
    price: { is: 'free' },
    query: {
      realm: 'The realm of the caller; without it and without `account_id`, the call comes from a carrier',
      account_id: 'Instead of the realm: the caller’s account in the response of `/v2/edge`',
      number: 'Required: the dialed number',
      from_device: 'ID of the calling device',
      caller: 'Number that the caller states',
      caller_name: 'The name that a carrier states for the caller',
      privacy: '`full`: the number of the caller is hidden',
    },
    answers: RouteAnswer,
    fails: [forbidden],
    run: async ({ actor, query }) => lasting(await routing.route(actor, routeQueryIn(query)), maxAgeSeconds),
  }),
]

const callsIn = (sent: unknown): readonly unknown[] => {
  const calls = listAt(sent, 'calls')
  if (calls === undefined) throw invalid(requiredField('calls'))
  if (calls.length > maxCalls) {
    const message = `The list must not have more than ${maxCalls} items`
    throw invalid({ calls: { maxItems: { message, target: maxCalls } } })
  }
  return calls
}

export const runningCallRoutes = (running: RunningCallRegister): Route[] => [
  post('/v2/edge/calls', {
    summary: 'Reserve credit or a trunk for new carrier calls, and limit the duration of calls in progress',
    allow: superduper,
    price: { is: 'free' },
    body: RunningCalls,
    judgesItself: true,
    answers: RunningCallsAnswer,
    run: async ({ author, sent }) => ({ calls: await running.take(author, callsIn(sent)) }),
  }),
]
