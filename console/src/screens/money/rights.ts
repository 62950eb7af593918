import { usePlace } from '../../frame/place.tsx'
import { crosspoint } from '../../lib/api.ts'

/** Whether whoever is signed in sells to the account that is open: its own reseller, or the operator. */
export const useSells = () => {
  const { above, isOwn, actsForMaster } = usePlace()
  const mine = crosspoint.session()?.accountId
  // A reseller further up deals with the reseller below it; the server says so where that is not this one.
  return actsForMaster || (!isOwn && above.some(({ id }) => id === mine))
}
