import { ownReseller } from '../../../../auth/policies.ts'
import { post } from '../../../../http/route.ts'
import { anyObject } from '../../../../lib/schema.ts'
import { area } from '../../../area.ts'
import { servicesArea } from '../area.ts'
import { createReconciliation } from './operations.ts'

export const reconciliationArea = area({
  name: 'reconciliation',
  needs: { services: servicesArea },
  collects: ['counts'],
  create({ store }, { services: { quantities } }, { counts: sources }) {
    const reconciliation = createReconciliation(store, quantities, sources)
    return {
      offers: reconciliation,
      routes: [
        post('/v2/accounts/{account_id}/services/reconciliation', {
          summary: 'Count the items of an account again, and correct its quantities',
          allow: ownReseller,
          answers: anyObject(),
          run: async ({ author, account }) => {
            await reconciliation.reconcile(author, account)
            return {}
          },
        }),
      ],
      migrations: {
        recount_services: {
          description: 'Counts the items of the account again for its services',
          plan: reconciliation.plan,
          accountsAtOnce: 8,
        },
      },
    }
  },
})
