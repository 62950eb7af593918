import type { Clock } from '../../lib/clock.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import type { Activated } from '../services/signals.ts'
import type { Ledgers } from './operations.ts'

/** Books what is charged once for what was added, a line of the ledger for each item. */
export const debitActivations =
  (ledgers: Pick<Ledgers, 'post'>, clock: Clock) =>
  (set: ChangeSet, { account, activations }: Activated) => {
    for (const { category, item, name, billable, total } of activations) {
      const id = `${set.author.requestId}/${category}/${item}`
      ledgers.post(set, account, {
        source: { service: 'services', id },
        usage: { type: category, quantity: billable, unit: item },
        amount: -total,
        identity: ['activation', account.id, id],
        details: {
          description: `Activation of ${billable} ${name}`,
          period: { start: gregorianNow(clock) },
          executor: { trigger: 'services_update', module: 'services' },
        },
      })
    }
  }
