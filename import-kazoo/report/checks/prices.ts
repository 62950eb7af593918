import type { Json } from '../../../src/lib/json.ts'
import { memberOf } from '../../../src/lib/member.ts'
import type { Draft } from '../../documents/document.ts'
import type { CheckTools, Tell } from './told.ts'

const prices = ['rate_cost', 'rate_surcharge', 'internal_rate_cost'] as const

// Of some hundred rates that are looked up together: decks hold millions.
const mostSampled = 20

const sampleOf = (rates: readonly Draft[]) => {
  const step = Math.max(1, Math.ceil(rates.length / mostSampled))
  return rates.filter((_, index) => index % step === 0)
}

/** Prices of calls are what they are to be: all of small decks, samples of others. */
export const createPriceJudge =
  ({ records, adoptions }: Pick<CheckTools, 'records' | 'adoptions'>) =>
  async (drafts: readonly Draft[], tell: Tell) => {
    const kind = adoptions.rate?.kind
    if (kind === undefined) return
    for (const { accountId, id, doc } of sampleOf(drafts.filter(({ as }) => as === 'rate'))) {
      const stored = (await records.find(accountId, kind, id))?.doc as Json | undefined
      if (!stored) continue
      for (const name of prices) {
        if (memberOf(stored, 'kazoo_import', 'rejected', name) !== undefined) continue
        const [expected, found] = [Number(doc[name] ?? 0), Number(stored[name] ?? 0)]
        if (expected !== found)
          tell({ place: `rate ${id}`, reason: `${name}: expected ${expected}, found ${found}` })
      }
    }
  }
