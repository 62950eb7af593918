import { superduper } from '../../../auth/policies.ts'
import { FileResponse } from '../../../http/response/responses.ts'
import { post, type Route } from '../../../http/route.ts'
import type { PostedPage } from '../../../http/transport/pages.ts'
import { anyText } from '../../../lib/schema.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { cdrsArea } from '../../calls/cdrs/area.ts'
import { edgeArea } from '../edge/area.ts'
import { routingArea } from '../routing/area.ts'
import { createFreeswitchIntake, type FreeswitchIntake } from './cdr.operations.ts'
import { createSwitchDocuments, type SwitchDocuments } from './operations.ts'
import { SwitchQuestion } from './schema.ts'
import { ingestSettings } from './settings.ts'

const xml = 'text/xml'

const freeswitchRoutes = ({ answer }: SwitchDocuments): Route[] => [
  post('/v2/edge/freeswitch', {
    summary: 'Respond to mod_xml_curl of FreeSWITCH: directory and dialplan',
    allow: superduper,
    price: { is: 'free' },
    body: SwitchQuestion,
    answers: anyText({ description: 'A document that FreeSWITCH reads' }),
    produces: [xml],
    acceptsAnything: true,
    tellsOnce: true,
    run: async ({ actor, data }) =>
      new FileResponse(Buffer.from(await answer(actor, data)), xml, { 'cache-control': 'no-store' }),
  }),
]

/**
 * POST /ingest/freeswitch/{secret}. A switch repeats a request that is not answered with 2xx, and then keeps the leg in a
 * file. So a leg that is ignored for a good reason (no account, a test call) is answered with 200, and one that a person has to
 * look at with 400.
 */
const callRecordPage = ({ isSecret, take }: FreeswitchIntake): PostedPage => ({
  below: '/ingest/freeswitch/',
  expects: 'POST a call detail record',
  authMethod: 'freeswitch',
  // A leg with both session descriptions and all variables has 50 KB; percent-encoded twice, three times that.
  largestBytes: 2_000_000,
  isSecret,
  take: async (author, bytes) => {
    const { verdict, reason } = await take(author, bytes)
    return typeof verdict === 'string'
      ? { status: 200, content: { status: verdict, reason } }
      : { status: 400, content: { status: 'rejected', reason: verdict.rejected } }
  },
  fault: 'a call record from a switch could not be stored',
})

/** The directory and the dialplan of FreeSWITCH, and its call records. */
export const freeswitchArea = area({
  name: 'freeswitch',
  needs: { accounts: accountsArea, cdrs: cdrsArea, edge: edgeArea, routing: routingArea },
  settings: [ingestSettings],
  create(tools, { accounts, cdrs: { intake, countVerdicts }, edge: { edge, carriers }, routing }) {
    const { records } = tools.store
    const callRecords = createFreeswitchIntake({
      ...tools,
      accounts,
      intake,
      count: countVerdicts('freeswitch'),
    })
    return {
      routes: freeswitchRoutes(createSwitchDocuments({ records, accounts, edge, carriers, routing })),
      posted: [callRecordPage(callRecords)],
      prepare: callRecords.prepare,
    }
  },
})
