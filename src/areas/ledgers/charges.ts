import { gregorianOfUnix } from '../../lib/gregorian.ts'
import { newId } from '../../lib/ids.ts'
import type { DueLine } from '../services/pricing/due.ts'
import type { Posting } from './operations.ts'

/** A line of the ledger for something that is charged at once, or given back. `now` in Unix milliseconds. */
export const postingOf = (line: DueLine, requestId: string, now: number): Posting => {
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
