import { superduper } from '../../../../auth/policies.ts'
import { post, type Route } from '../../../../http/route.ts'
import { invalid } from '../../../../lib/failure.ts'
import { memberOf } from '../../../../lib/member.ts'
import { callArchiveUnreachable } from '../../../calls/cdrs/failures.ts'
import type { EdgeReporting } from './operations.ts'
import { EdgeReports, EdgeReportsTaken } from './schema.ts'

const listIn = (sent: unknown, name: 'records' | 'refusals' | 'emergencies'): readonly unknown[] => {
  const given = memberOf(sent, name) ?? []
  if (Array.isArray(given)) return given
  const message = 'Value did not match type(s): array'
  throw invalid({ [name]: { type: { message, target: 'array' } } })
}

export const edgeReportRoutes = (reporting: EdgeReporting): Route[] => [
  post('/v2/edge/reports', {
    summary: 'Take the records of calls and the refusals of an edge. What was taken before changes nothing',
    allow: superduper,
    price: { is: 'free' },
    body: EdgeReports,
    judgesItself: true,
    answers: EdgeReportsTaken,
    fails: [callArchiveUnreachable],
    run: ({ author, sent }) =>
      reporting.take(author, {
        records: listIn(sent, 'records'),
        refusals: listIn(sent, 'refusals'),
        emergencies: listIn(sent, 'emergencies'),
      }),
  }),
]
