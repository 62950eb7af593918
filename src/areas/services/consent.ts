import type { AccountRecord } from '../../auth/identity.ts'
import type { Clock } from '../../lib/clock.ts'
import { failure } from '../../lib/failure.ts'
import type { Author, ChangeSet, Count } from '../../storage/change-set.ts'
import type { Gate } from '../../storage/store.ts'
import type { Books } from './books.ts'
import {
  type ComparedInvoice,
  comparedJson,
  compareInvoices,
  priceAccount,
  raisesCharge,
  riseOf,
} from './pricing/invoices.ts'
import { moved } from './quantities/rules.ts'
import type { Standings } from './standing.ts'

const amountOf = (compared: readonly ComparedInvoice[]) =>
  compared.reduce((sum, invoice) => sum + Math.max(0, riseOf(invoice)) + invoice.today, 0)

interface Payer {
  account: AccountRecord
  author: Author
  counts: Count[]
}

/**
 * Stands before every write that moves counts, whatever area it comes from: who asks for it pays for it, so it is
 * priced with the plans of the authenticating account (reference 03 section 1.11). Whoever has no plans is never asked.
 */
export const createConsent = (tools: { books: Books; standings: Standings; clock: Clock }): Gate => {
  const { books, standings, clock } = tools

  const isBelow = async ({ id }: AccountRecord, { accountId }: Count) =>
    (await books.account(accountId))?.hidden.tree.includes(id) === true

  /** Who is asked: the authenticating account of each author, with the counts that are its own or below it. */
  const payersOf = async (sets: readonly ChangeSet[]): Promise<Payer[]> => {
    const payers = new Map<string, Payer>()
    for (const { author, counts } of sets) {
      const { authAccountId } = author
      if (authAccountId === undefined || counts.length === 0) continue
      const account = payers.get(authAccountId)?.account ?? (await books.account(authAccountId))
      if (!account) continue
      const payer = payers.get(authAccountId) ?? { account, author, counts: [] }
      payers.set(authAccountId, payer)
      for (const count of counts)
        if (count.accountId === account.id || (await isBelow(account, count))) payer.counts.push(count)
    }
    return [...payers.values()]
  }

  const ask = async ({ account, author, counts }: Payer) => {
    const { lists } = await books.terms(account)
    if (lists.length === 0) return
    const counted = await books.counted(account.id)
    const after = moved(
      counted,
      account.id,
      counts.map(({ delta, ...count }) => ({ ...count, own: delta, below: 0 })),
    )
    const compared = compareInvoices(priceAccount(lists, counted), priceAccount(lists, after), clock.now())
    if (!compared.some(raisesCharge)) return
    if (!author.acceptsCharges)
      throw failure('charges_not_accepted', { invoices: compared.map(comparedJson) })
    const standing = await standings.of(account, amountOf(compared))
    if (!standing.acceptable) {
      const { reason, message = reason } = standing
      throw failure('billing_issue', { reason, message })
    }
  }

  return async (sets) => {
    for (const payer of await payersOf(sets)) await ask(payer)
  }
}
