import type { Static } from 'typebox'
import { anyText, open } from '../../../../lib/schema.ts'
import { EdgeAnswer } from '../schema.ts'

/** What `GET /v2/edge` answers for one who sends packets. */
export const EdgeExportRow = open(
  {
    username: anyText({
      description: 'The SIP user name; without it and without an address: whoever the realm does not know',
    }),
    address: anyText({ description: 'Where packets come from that are known by that' }),
    ...EdgeAnswer.properties,
  },
  { title: 'Row of the export of a realm' },
)
export type EdgeExportRow = Static<typeof EdgeExportRow>
