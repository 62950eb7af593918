import { ownReseller } from '../../../../auth/policies.ts'
import { post, type Route } from '../../../../http/route.ts'
import { anyObject } from '../../../../lib/schema.ts'
import type { Synchronization } from './operations.ts'

export const synchronizationRoutes = (synchronization: Synchronization): Route[] => [
  post('/v2/accounts/{account_id}/services/synchronization', {
    summary: 'Tell every bookkeeper of an account what is on its invoices',
    allow: ownReseller,
    answers: anyObject(),
    run: async ({ account }) => {
      await synchronization.now(account)
      return {}
    },
  }),
]
