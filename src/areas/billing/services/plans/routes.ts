import { accountAdmin, accountMember } from '../../../../auth/policies.ts'
import { datastoreConflict } from '../../../../lib/failure.ts'
import { recordRoutes } from '../../../record-routes.ts'
import { countedCategories } from '../rules.ts'
import type { Plans } from './operations.ts'
import { itemWarnings } from './rules.ts'
import { PlanRow } from './schema.ts'

export const planRoutes = (plans: Plans) =>
  recordRoutes(plans, {
    path: '/v2/accounts/{account_id}/service_plans',
    called: ['a service plan', 'service plans'],
    row: PlanRow,
    routes: {
      list: { allow: accountMember, summary: 'List the service plans that an account sells by' },
      create: { allow: accountAdmin, summary: 'Make a service plan' },
      read: { allow: accountMember },
      replace: {
        allow: accountAdmin,
        summary: 'Replace a service plan: the next bill of every account that has it follows',
      },
      patch: { allow: accountAdmin, summary: 'Change parts of a service plan' },
      delete: {
        allow: accountAdmin,
        summary: 'Remove a service plan that no account has',
        fails: [datastoreConflict],
      },
    },
    warns: ({ plan }) => itemWarnings(plan, countedCategories),
  })
