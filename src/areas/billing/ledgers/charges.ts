import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import { type Author, actOf } from '../../../storage/change-set.ts'
import type { AcceptedLine } from '../services/agreed.rules.ts'
import type { GivenBack } from './give-back.ts'
import type { LedgerPosting } from './rules.ts'

/** A line of the ledger for something that is charged at once, or given back. `now` in Unix milliseconds. */
export const postingOf = (line: AcceptedLine, author: Author, now: number): LedgerPosting => {
  const { service, key, usage, amount, description, metadata, counting, units } = line
  return {
    source: { service, id: `${author.requestId}/${key}` },
    usage,
    amount: -amount,
    // Part of the change that it charges for: there is no second one to be told apart.
    identity: ['due', newId(now)],
    details: {
      description,
      period: { start: gregorianOfUnix(now / 1000) },
      executor: { trigger: 'services_update', module: 'services' },
      ...(metadata ? { metadata } : {}),
      act: actOf(author),
      ...(counting && units !== undefined ? { agreed: { counting, units } } : {}),
    },
  }
}

/** The line that gives back what a line has charged. */
export const postingBackOf = ({ charge, amount, units }: GivenBack, now: number): LedgerPosting => ({
  source: charge.source,
  usage: { ...charge.usage, quantity: units },
  amount,
  identity: ['back', newId(now)],
  details: {
    description: `Given back: ${charge.details.description ?? charge.source.service}`,
    period: { start: gregorianOfUnix(now / 1000) },
    executor: { trigger: 'services_update', module: 'services' },
    givesBack: { entry: charge.id, units },
  },
})
