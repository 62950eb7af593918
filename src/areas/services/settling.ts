import type { AccountRecord } from '../../auth/identity.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import type { ServiceAudit } from './audit/operations.ts'
import type { Books } from './books.ts'
import { compareInvoices, priceAccount } from './pricing/invoices.ts'
import type { Counted } from './pricing/items.ts'
import type { PriceList } from './pricing/merge.ts'
import type { Settle } from './quantities/operations.ts'
import { type Move, moved, type Quantities } from './quantities/rules.ts'
import { activated } from './signals.ts'

interface Tools {
  books: Books
  audit: ServiceAudit
  /** The folded totals of an account: those before the moves that are being settled. */
  totals(accountId: string): Promise<{ account: Quantities; cascade: Quantities }>
}

/** An account that pays for what moves, and what it has at each step. */
interface Payer {
  account: AccountRecord
  lists: readonly PriceList[]
  counted: Counted
}

/**
 * Turns moves of counts into audit entries and charges, one request after another, in the order in which they
 * happened. It is part of the fold, whose transaction does all of it once or not at all.
 */
export const createSettling = ({ books, audit, totals }: Tools): Settle => {
  const open = async (account: AccountRecord): Promise<Payer | undefined> => {
    const { lists } = await books.terms(account)
    if (lists.length === 0) return undefined
    const services = await books.services.find(account.id)
    return { account, lists, counted: { ...(await totals(account.id)), manual: services?.doc.manual ?? {} } }
  }

  /** The payers among an account and those above it, nearest first. */
  const createPayers = () => {
    const known = new Map<string, Payer | undefined>()
    const payer = async (accountId: string) => {
      if (known.has(accountId)) return known.get(accountId)
      const account = await books.account(accountId)
      const found = account && (await open(account))
      known.set(accountId, found)
      return found
    }
    return async (account: AccountRecord): Promise<Payer[]> => {
      const chain = [account.id, ...account.hidden.tree.toReversed()]
      const payers: Payer[] = []
      for (const id of chain) {
        const found = await payer(id)
        if (found) payers.push(found)
      }
      return payers
    }
  }

  const settleFor = async (
    set: ChangeSet,
    payer: Payer,
    changed: AccountRecord,
    moves: readonly Move<Author>[],
  ) => {
    const { account, lists, counted } = payer
    payer.counted = moved(counted, account.id, moves)
    const compared = compareInvoices(priceAccount(lists, counted), priceAccount(lists, payer.counted))
    const named = { id: changed.id, name: changed.doc.name }
    const types = [changed.id === account.id ? ('account' as const) : ('cascade' as const)]
    await audit.add(set, { account, compared, changed: named, types })
    const activations = compared.flatMap((invoice) => invoice.activations)
    if (activations.length > 0) set.tell(activated, { account, activations })
  }

  /** What one request moved: a change set, empty when nobody's invoice changes by it. */
  const settleRequest = async (
    moves: readonly Move<Author>[],
    payersOf: ReturnType<typeof createPayers>,
  ): Promise<ChangeSet> => {
    const set = new ChangeSet((moves[0] as Move<Author>).author)
    for (const [accountId, ofAccount] of Map.groupBy(moves, (move) => move.accountId)) {
      const changed = await books.account(accountId)
      if (!changed) continue
      for (const payer of await payersOf(changed)) await settleFor(set, payer, changed, ofAccount)
    }
    return set
  }

  return async (moves: readonly Move<Author>[]): Promise<ChangeSet[]> => {
    const payersOf = createPayers()
    const sets: ChangeSet[] = []
    for (const request of Map.groupBy(moves, ({ author }) => author.requestId).values())
      sets.push(await settleRequest(request, payersOf))
    return sets.filter(({ changes, told }) => changes.length + told.length > 0)
  }
}
