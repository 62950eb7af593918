import { gregorianOfUnix } from '../../lib/gregorian.ts'
import { newId } from '../../lib/ids.ts'
import type { Posting } from './ledgers/operations.ts'
import { type DueLine, dueToday } from './pricing/due.ts'
import type { ComparedInvoice } from './pricing/invoices.ts'

const postingOf = (line: DueLine, requestId: string, now: number): Posting => {
  const { service, key, usage, amount, description, metadata } = line
  return {
    source: { service, id: `${requestId}/${key}` },
    usage,
    amount: -amount,
    // Part of the change that it charges for: there is no second one to be told apart.
    identity: ['due', newId(now)],
    details: {
      description,
      period: { start: gregorianOfUnix(now / 1000) },
      executor: { trigger: 'services_update', module: 'services' },
      ...(metadata ? { metadata } : {}),
    },
  }
}

/** A line of the ledger for each thing that agreed invoices charge at once, or give back. `now` in Unix milliseconds. */
export const agreedPostings = (
  compared: readonly ComparedInvoice[],
  requestId: string,
  now: number,
): Posting[] => compared.flatMap(dueToday).map((line) => postingOf(line, requestId, now))
