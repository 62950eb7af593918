import { hash } from 'node:crypto'
import { Failure, type Quote } from '../../lib/failure.ts'
import type { Author } from '../../storage/change-set.ts'
import { forgetRows } from '../../storage/forgetting.ts'
import type { Store } from '../../storage/store.ts'
import { integer, table, text } from '../../storage/table.ts'
import { type ComparedInvoice, comparedJson, riseOf } from './pricing/invoices.ts'

const validMs = 10 * 60_000
const keptMs = 24 * 3_600_000

const quotes = table('charge_quotes', {
  accountId: text(),
  caller: text(),
  request: text(),
  quoteId: text(),
  today: integer(),
  monthly: integer(),
  at: integer(),
})
const putQuote = quotes.upsert('accountId', 'caller', 'request')

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
export const createQuotes = ({ all, clock, writeUnrecorded }: Store) => ({
  /** Whether a request that accepts charges accepts this quote. */
  async isAccepted(author: Author, quote: Quote): Promise<boolean> {
    const place = placeOf(author)
    const named = author.consent?.quoteId
    if (!place || named === quote.quoteId) return true
    const known = quotes.first(
      await all(
        `SELECT ${quotes.columns} FROM charge_quotes WHERE account_id = $1 AND caller = $2 AND request = $3`,
        [place.accountId, place.caller, place.request],
      ),
    )
    if (named !== undefined) return known?.quoteId === named && covers(known, quote)
    return !known || (clock.now() - known.at <= validMs && covers(known, quote))
  },

  /** Stores the quote that a refused request gets. */
  async remember(author: Author, error: unknown): Promise<void> {
    const place = placeOf(author)
    if (!place || !(error instanceof Failure && error.is('charges_not_accepted'))) return
    const { quoteId, today, monthly } = error.details
    await writeUnrecorded([putQuote({ ...place, quoteId, today, monthly, at: clock.now() })])
  },

  round: {
    name: 'charge_quotes',
    everySeconds: 3600,
    run: (signal: AbortSignal) =>
      forgetRows(
        { all, writeUnrecorded },
        {
          table: 'charge_quotes',
          key: ['account_id', 'caller', 'request'],
          where: 'at < $1',
          params: [clock.now() - keptMs],
        },
        signal,
      ),
  },
})
