import type { Json } from '../../../src/lib/json.ts'
import { type LeavingDocument, type OwnRecord, present, stamped } from '../document.ts'

/** Category -> item -> count. */
type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** What is known of an account beside what it is sold. */
export interface SoldTo {
  tree: readonly string[]
  resellerId: string
  isReseller: boolean
  counts: { account: Counts; cascade: Counts }
}

const database = 'services'

/** What stands in the record of services and has no counterpart there. */
export const servicesLeft = (doc: Json) =>
  ['payment_tokens', 'customers', 'tax'].filter((key) => doc[key] !== undefined)

/** What an account is sold, and what it has of it; an account that is sold nothing has such a document, too. */
export const leavingServices = (
  { accountId, created, modified, doc }: OwnRecord,
  { tree, resellerId, isReseller, counts }: SoldTo,
): LeavingDocument => {
  const { plans = {}, overrides, manual = {}, bookkeeper, ratedeck, billing_id: billingId } = doc
  return {
    database,
    id: accountId,
    type: 'service',
    fields: present({
      plans,
      overrides,
      quantities: { account: counts.account, cascade: counts.cascade, manual },
      bookkeeper,
      ratedeck,
      billing_id: billingId ?? accountId,
      ...stamped('service', accountId, { created, modified }, database),
      // Since 4.3: counts are told apart.
      pvt_vsn: '2',
      pvt_tree: tree,
      pvt_reseller_id: resellerId,
      pvt_is_reseller: isReseller,
      pvt_status: doc.status ?? 'good_standing',
      pvt_status_reason: doc.reason,
      pvt_status_reason_code: doc.reason_code,
    }),
    files: [],
  }
}
