import { anyToken } from '../../../../auth/policies.ts'
import { RowsResponse } from '../../../../http/answer/answers.ts'
import { get, type Route } from '../../../../http/route.ts'
import { forbidden } from '../../../../lib/failure.ts'
import { list } from '../../../../lib/schema.ts'
import { questionIn } from '../rules.ts'
import type { EdgeExport } from './operations.ts'
import { EdgeExportRow } from './schema.ts'

export const edgeExportRoutes = (edgeExport: EdgeExport): Route[] => [
  get('/v2/edge/export', {
    summary: 'Tell an edge proxy all that holds in a realm, and where in the feed of events that was',
    isLong: true,
    tellsSecrets: true,
    allow: anyToken,
    query: {
      realm: 'Required: the realm',
      credentials: { flag: 'For the operator alone: what devices and servers sign in with' },
    },
    answers: list(EdgeExportRow),
    fails: [forbidden],
    run: async ({ actor, query }) => {
      const { realm, withCredentials } = questionIn(query)
      const { sequence, rows } = await edgeExport.of(actor, { realm, withCredentials })
      return new RowsResponse(rows, () => ({ sequence }))
    },
  }),
]
