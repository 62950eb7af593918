import { anyToken, superduper } from '../../../auth/policies.ts'
import { lasting, RowsResponse } from '../../../http/response/responses.ts'
import { get, post, type Route } from '../../../http/route.ts'
import { forbidden } from '../../../lib/failure.ts'
import { list } from '../../../lib/schema.ts'
import { callArchiveUnreachable } from '../../calls/cdrs/failures.ts'
import { listAt, maxAgeSeconds } from '../routing/rules.ts'
import type { EdgeExport } from './export.operations.ts'
import type { CarrierDecisions, Edge } from './operations.ts'
import type { EdgeReporting } from './reports.operations.ts'
import { carrierQuestionIn, edgeQueryIn } from './rules.ts'
import { CarrierAnswer, EdgeAnswer, EdgeExportRow, EdgeReports, EdgeReportsTaken } from './schema.ts'

interface Deps {
  edge: Edge
  carriers: CarrierDecisions
  edgeExport: EdgeExport
  reporting: EdgeReporting
}

export const edgeRoutes = ({ edge, carriers, edgeExport, reporting }: Deps): Route[] => [
  get('/v2/edge', {
    summary: 'Authorize a packet for an edge',
    allow: anyToken,
    price: { is: 'free' },
    query: {
      realm: 'Required: realm of the packet',
      username: 'SIP user name of the packet',
      address: 'Source address of the packet; the response then contains a decision',
      user_agent: 'User agent of the packet',
      credentials: { flag: 'For operators only: SIP credentials of the device' },
    },
    answers: EdgeAnswer,
    fails: [forbidden],
    run: async ({ actor, query }) => lasting(await edge.decide(actor, edgeQueryIn(query)), maxAgeSeconds),
  }),
  get('/v2/edge/carrier', {
    summary: 'Check whether an address may send calls to an edge',
    allow: superduper,
    price: { is: 'free' },
    query: {
      address: 'Required: source address of the call',
      port: 'Source port, for carriers with a fixed port',
      number:
        'Called number: also considers the carriers of the account with this number and of its parent accounts',
    },
    answers: CarrierAnswer,
    run: async ({ query }) => {
      const data = await carriers.decide(carrierQuestionIn(query))
      return lasting(data, data.max_age_s)
    },
  }),
  get('/v2/edge/export', {
    summary: 'Export the records of a realm for an edge, with the event sequence of the export',
    isLong: true,
    tellsSecrets: true,
    allow: anyToken,
    query: {
      realm: 'Required: the realm',
      credentials: { flag: 'For operators only: SIP credentials of devices and servers' },
    },
    answers: list(EdgeExportRow),
    fails: [forbidden],
    run: async ({ actor, query }) => {
      const { realm, withCredentials } = edgeQueryIn(query)
      const { sequence, rows } = await edgeExport.of(actor, { realm, withCredentials })
      return new RowsResponse(rows, () => ({ sequence }))
    },
  }),
  post('/v2/edge/reports', {
    summary: 'Store call records and refusals of an edge; a repeated report changes nothing',
    allow: superduper,
    price: { is: 'free' },
    body: EdgeReports,
    judgesItself: true,
    answers: EdgeReportsTaken,
    fails: [callArchiveUnreachable],
    run: ({ author, sent }) =>
      reporting.take(author, {
        records: listAt(sent, 'records') ?? [],
        refusals: listAt(sent, 'refusals') ?? [],
        emergencies: listAt(sent, 'emergencies') ?? [],
      }),
  }),
]
