import { usePlace } from '../../frame/place.tsx'
import { crosspoint } from '../../lib/api.ts'

/** Whether the signed-in user sells to the open account: its reseller or the operator. */
export const useSells = () => {
  const { above, isOwn, actsForMaster } = usePlace()
  const mine = crosspoint.session()?.accountId
  // Only the nearest reseller manages an account; the server refuses others.
  return actsForMaster || (!isOwn && above.some(({ id }) => id === mine))
}
