import { hash } from 'node:crypto'
import { deleteOldRows } from '../../../jobs/scheduler.ts'
import { chargesNotAccepted, isFailure, type Quote } from '../../../lib/failure.ts'
import type { Author } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { CountMove } from './moves.ts'
import { type ComparedInvoice, chargesOf, comparedJson } from './pricing/invoices.ts'
import { createQuoteStore } from './store.ts'

const validMs = 10 * 60_000
const keptMs = 24 * 3_600_000

const shortDigest = (value: unknown) => hash('sha256', JSON.stringify(value), 'hex').slice(0, 32)

/**
 * The counts that a request changes, independent of its wording, order and price. The id of a new account differs in
 * each attempt.
 */
const purchaseOf = (moves: readonly CountMove[]) =>
  shortDigest(
    moves
      .map(({ accountId, name, category, item, delta }) =>
        JSON.stringify([name === undefined ? accountId : '', category, item, delta]),
      )
      .sort(),
  )

export const quoteOf = (compared: readonly ComparedInvoice[], moves: readonly CountMove[]): Quote => ({
  quoteId: shortDigest(compared.map(comparedJson)),
  purchase: purchaseOf(moves),
  ...chargesOf(compared),
})

export const covers = (known: Pick<Quote, 'today' | 'monthly'>, { today, monthly }: Quote) =>
  today <= known.today && monthly <= known.monthly

/** The key of a stored quote: the paying account, the caller, and the purchase. */
const quoteKeyOf = ({ authAccountId, consent }: Author, { purchase }: Pick<Quote, 'purchase'>) =>
  authAccountId === undefined || consent?.caller === undefined
    ? undefined
    : { accountId: authAccountId, caller: consent.caller, request: purchase }

/** The key under which a quote is also stored by its id. */
const quoteIdKeyOf = ({ accountId, request }: { accountId: string; request: string }, quoteId: string) => ({
  accountId,
  caller: `quote/${quoteId}`,
  request,
})

export type Quotes = ReturnType<typeof createQuotes>

/** The prices that callers have been shown. Acceptance is for these, or for less. */
export const createQuotes = (store: Store) => {
  const { clock } = store
  const rows = createQuoteStore(store)
  return {
    /** Whether a request that accepts charges accepts this quote. */
    async isAccepted(author: Author, quote: Quote): Promise<boolean> {
      const place = quoteKeyOf(author, quote)
      const named = author.consent?.quoteId
      if (!place || named === quote.quoteId) return true
      if (named !== undefined) {
        const known = await rows.find(quoteIdKeyOf(place, named))
        return known !== undefined && covers(known, quote)
      }
      const known = await rows.find(place)
      return !known || (clock.now() - known.at <= validMs && covers(known, quote))
    },

    /** Stores the quote of a refused request for its caller, and for all of the account that send its id. */
    async remember(author: Author, error: unknown): Promise<void> {
      if (!isFailure(error, chargesNotAccepted)) return
      const { quoteId, today, monthly } = error.details
      const place = quoteKeyOf(author, error.details)
      if (!place) return
      const row = { ...place, quoteId, today, monthly, at: clock.now() }
      await rows.put(row, { ...row, ...quoteIdKeyOf(place, quoteId) })
    },

    deletion: deleteOldRows(store, {
      name: 'charge_quotes',
      table: 'charge_quotes',
      key: ['account_id', 'caller', 'request'],
      where: 'at < $1',
      before: () => clock.now() - keptMs,
    }),
  }
}
