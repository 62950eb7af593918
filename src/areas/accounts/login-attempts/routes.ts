import { accountAdmin } from '../../../auth/policies.ts'
import { ListResponse, one } from '../../../http/response/responses.ts'
import { timeListing, timeWindow } from '../../../http/response/time-window.ts'
import { get, type Route } from '../../../http/route.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { DepsOf } from '../../area.ts'
import type { LoginAttempts } from './operations.ts'
import { LoginAttempt } from './schema.ts'

type Deps = DepsOf<'settings' | 'store'> & { attempts: LoginAttempts }

const onSecurity = '/v2/accounts/{account_id}/security/attempts'
const onMultiFactor = '/v2/accounts/{account_id}/multi_factor/attempts'
const windowQuery = {
  created_from: 'Gregorian seconds; 31 days before created_to unless given',
  created_to: 'Gregorian seconds; now unless given',
}

export const loginAttemptRoutes = ({ attempts, settings, store }: Deps): Route[] => {
  const listing = async (query: URLSearchParams, place: { accountId: string; ownerId?: string }) => {
    const { maximum_range: maximum } = await settings.of(crossbarSettings)
    const window = timeWindow(query, gregorianNow(store.clock), maximum)
    return new ListResponse(timeListing(attempts, place, window))
  }

  const listed = { allow: accountAdmin, query: windowQuery, answers: LoginAttempt, list: true } as const
  const read = { allow: accountAdmin, answers: LoginAttempt }

  return [
    get(onSecurity, {
      summary: 'List the sign-in attempts of an account',
      ...listed,
      run: ({ path, query }) => listing(query, { accountId: path.account_id }),
    }),
    get(`${onSecurity}/{attempt_id}`, {
      summary: 'Read a sign-in attempt',
      ...read,
      run: async ({ path }) => one(await attempts.get(path.account_id, path.attempt_id)),
    }),
    get(onMultiFactor, {
      summary: 'List the second-factor attempts of an account',
      ...listed,
      run: ({ path, query }) =>
        listing(query, { accountId: path.account_id, ownerId: attempts.secondFactors }),
    }),
    get(`${onMultiFactor}/{attempt_id}`, {
      summary: 'Read a second-factor attempt',
      ...read,
      run: async ({ path }) => one(await attempts.getSecondFactor(path.account_id, path.attempt_id)),
    }),
  ]
}
