import type { Json } from '../../../src/lib/json.ts'
import { type LeavingDocument, monthDatabase, stamped } from '../document.ts'

/** A leg as it is read: `YYYYMM-<call id>`, and its public document. */
export interface LeavingLeg {
  accountId: string
  id: string
  document: Json
}

/** A call record. Its month is that of its interaction, as it stands here. */
export const leavingCall = ({ accountId, id, document }: LeavingLeg): LeavingDocument => {
  const { id: _, ...fields } = document
  const database = monthDatabase(accountId, Number(id.slice(0, 6)))
  const at = Number(fields.timestamp)
  return {
    database,
    id,
    type: 'cdr',
    fields: {
      ...fields,
      ...stamped('cdr', accountId, { created: at, modified: at }, database),
      // As 4.3 writes them.
      pvt_vsn: '2',
    },
    files: [],
  }
}
