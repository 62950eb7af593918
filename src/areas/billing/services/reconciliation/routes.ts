import { ownReseller } from '../../../../auth/policies.ts'
import { post, type Route } from '../../../../http/route.ts'
import { anyObject } from '../../../../lib/schema.ts'
import type { Reconciliation } from './operations.ts'

export const reconciliationRoutes = (reconciliation: Reconciliation): Route[] => [
  post('/v2/accounts/{account_id}/services/reconciliation', {
    summary: 'Count anew what an account has, and put its quantities right',
    allow: ownReseller,
    answers: anyObject(),
    run: async ({ author, account }) => {
      await reconciliation.reconcile(author, account)
      return {}
    },
  }),
]
