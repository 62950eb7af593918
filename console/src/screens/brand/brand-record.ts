import { CrosspointError, getWhitelabel } from '@crosspoint/client'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

const isNotThere = (error: unknown) => error instanceof CrosspointError && error.status === 404

/** The settings of the account's brand, of which there may be none yet. */
export const useBrandRecord = () => {
  const { accountId } = usePlace()
  const found = useAnswer(['whitelabel', accountId], (signal) =>
    getWhitelabel({ ...api, path: { account_id: accountId }, signal }),
  )
  const isMissing = isNotThere(found.error)
  return {
    record:
      found.data && !isMissing ? { data: found.data.data, revision: found.data.revision ?? '' } : undefined,
    isMissing,
    error: found.error,
    again: found.refetch,
  }
}
