import { area } from '../../../area.ts'
import { servicesArea } from '../area.ts'
import { createReconciliation } from './operations.ts'
import { reconciliationRoutes } from './routes.ts'

/** What accounts have is counted anew from their records. */
export const reconciliationArea = area({
  name: 'reconciliation',
  needs: { services: servicesArea },
  collects: ['counts'],
  create({ store }, { services: { quantities } }, { counts: sources }) {
    const reconciliation = createReconciliation({ store, quantities, sources })
    return {
      offers: reconciliation,
      routes: reconciliationRoutes(reconciliation),
      migrations: {
        recount_services: {
          description: 'Counts anew what the account has, for its services',
          plan: reconciliation.plan,
          accountsAtOnce: 8,
        },
      },
    }
  },
})
