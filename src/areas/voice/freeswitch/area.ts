import { superduper } from '../../../auth/policies.ts'
import { FileResponse } from '../../../http/answer/answers.ts'
import { post, type Route } from '../../../http/route.ts'
import { anyText } from '../../../lib/schema.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { edgeArea } from '../edge/area.ts'
import { routingArea } from '../routing/area.ts'
import { createSwitchDocuments, type SwitchDocuments } from './operations.ts'
import { SwitchQuestion } from './schema.ts'

const xml = 'text/xml'

const freeswitchRoutes = ({ answer }: SwitchDocuments): Route[] => [
  post('/v2/edge/freeswitch', {
    summary: 'Answer mod_xml_curl of FreeSWITCH: who signs in, and what becomes of a call',
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

/** What FreeSWITCH reads in place of files: its directory and its dialplan. */
export const freeswitchArea = area({
  name: 'freeswitch',
  needs: { accounts: accountsArea, edge: edgeArea, routing: routingArea },
  create: ({ store: { records } }, { edge: { edge, carriers }, ...needs }) => ({
    routes: freeswitchRoutes(createSwitchDocuments({ records, edge, carriers, ...needs })),
  }),
})
