import { gregorianOfUnix } from '../../lib/gregorian.ts'
import { newId } from '../../lib/ids.ts'
import type { Posting } from './ledgers/operations.ts'
import type { ComparedInvoice } from './pricing/invoices.ts'

/** A line of the ledger for each thing that an agreed invoice charges at once. `now` in Unix milliseconds. */
export const agreedPostings = (
  compared: readonly ComparedInvoice[],
  requestId: string,
  now: number,
): Posting[] =>
  compared.flatMap(({ activations }) =>
    activations.map(({ category, item, name, billable, total }) => ({
      source: { service: 'services', id: `${requestId}/${category}/${item}` },
      usage: { type: category, quantity: billable, unit: item },
      amount: -total,
      // Part of the change that it charges for: there is no second time to be told apart.
      identity: ['activation', newId(now)],
      details: {
        description: `Activation of ${billable} ${name}`,
        period: { start: gregorianOfUnix(now / 1000) },
        executor: { trigger: 'services_update', module: 'services' },
      },
    })),
  )
