import { superduper } from '../../../../auth/policies.ts'
import { post, type Route } from '../../../../http/route.ts'
import { invalid } from '../../../../lib/failure.ts'
import { memberOf } from '../../../../lib/member.ts'
import type { RunningCallRegister } from './operations.ts'
import { maxCalls, RunningCalls, RunningCallsAnswer } from './schema.ts'

const callsIn = (sent: unknown): readonly unknown[] => {
  const calls = memberOf(sent, 'calls')
  if (calls === undefined || calls === null)
    throw invalid({ calls: { required: { message: 'Field is required but missing', value: 'calls' } } })
  if (!Array.isArray(calls))
    throw invalid({ calls: { type: { message: 'Value did not match type(s): array', target: 'array' } } })
  if (calls.length > maxCalls) {
    const message = `The list must not have more than ${maxCalls} items`
    throw invalid({ calls: { maxItems: { message, target: maxCalls } } })
  }
  return calls
}

export const runningCallRoutes = (running: RunningCallRegister): Route[] => [
  post('/v2/edge/calls', {
    summary:
      'Reserve credit or a trunk for calls over carriers that begin, and say how long running ones may last',
    allow: superduper,
    price: { is: 'free' },
    body: RunningCalls,
    judgesItself: true,
    answers: RunningCallsAnswer,
    run: async ({ author, sent }) => ({ calls: await running.take(author, callsIn(sent)) }),
  }),
]
