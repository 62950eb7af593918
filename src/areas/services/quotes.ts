import { hash } from 'node:crypto'
import { Failure, type Quote } from '../../lib/failure.ts'
import type { Author } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import { type ComparedInvoice, comparedJson, riseOf } from './pricing/invoices.ts'
import { createQuoteStore } from './store.ts'

const validMs = 10 * 60_000
const keptMs = 24 * 3_600_000

export const quoteOf = (compared: readonly ComparedInvoice[]): Quote => {
  const sum = (of: (invoice: ComparedInvoice) => number) =>
    compared.reduce((total, invoice) => total + of(invoice), 0)
  return {
    quoteId: hash('sha256', JSON.stringify(compared.map(comparedJson)), 'hex').slice(0, 32),
    today: sum(({ today }) => today),
    monthly: sum(riseOf),
  }
}

export const covers = (known: Pick<Quote, 'today' | 'monthly'>, { today, monthly }: Quote) =>
  today <= known.today && monthly <= known.monthly

/** The quote of a request that has been asked for consent, by the account that pays, its caller, and the request. */
const placeOf = ({ authAccountId, authUserId = '', authKeyId = '', consent }: Author) =>
  authAccountId === undefined || !consent?.fingerprint
    ? undefined
    : { accountId: authAccountId, caller: `${authUserId}/${authKeyId}`, request: consent.fingerprint() }

export type Quotes = ReturnType<typeof createQuotes>

/** The prices that callers have been shown: consent is for these, or for less. */
export const createQuotes = (store: Store) => {
  const { clock } = store
  const rows = createQuoteStore(store)
  return {
    /** Whether a request that accepts charges accepts this quote. */
    async isAccepted(author: Author, quote: Quote): Promise<boolean> {
      const place = placeOf(author)
      const named = author.consent?.quoteId
      if (!place || named === quote.quoteId) return true
      const known = await rows.find(place)
      if (named !== undefined) return known?.quoteId === named && covers(known, quote)
      return !known || (clock.now() - known.at <= validMs && covers(known, quote))
    },

    /** Stores the quote that a refused request gets. */
    async remember(author: Author, error: unknown): Promise<void> {
      const place = placeOf(author)
      if (!place || !(error instanceof Failure && error.is('charges_not_accepted'))) return
      const { quoteId, today, monthly } = error.details
      await rows.put({ ...place, quoteId, today, monthly, at: clock.now() })
    },

    round: {
      name: 'charge_quotes',
      everySeconds: 3600,
      run: (signal: AbortSignal) => rows.forgetBefore(clock.now() - keptMs, signal),
    },
  }
}
