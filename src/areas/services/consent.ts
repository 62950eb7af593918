import type { AccountRecord } from '../../auth/identity.ts'
import { failure } from '../../lib/failure.ts'
import { elementAt } from '../../lib/list.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import type { Gate, Store } from '../../storage/store.ts'
import { agreedLines } from './agreed/rules.ts'
import type { ServiceAudit } from './audit/operations.ts'
import type { Books } from './books.ts'
import { addAgreed, type Charged, type ChargedItems, itemKey } from './charged.ts'
import { type CountMove, concernedBy, isMoving, movesOfSets, type Request } from './moves.ts'
import {
  type ComparedInvoice,
  comparedJson,
  compareInvoices,
  isChanged,
  priceAccount,
  raisesCharge,
  riseOf,
} from './pricing/invoices.ts'
import type { Counted } from './pricing/items.ts'
import type { PriceList } from './pricing/merge.ts'
import type { QuantityBook } from './quantities/operations.ts'
import { moved } from './quantities/rules.ts'
import { chargesAgreed } from './signals.ts'
import type { Standings } from './standing.ts'
import { createTurnStore } from './store.ts'
import { createQueueing } from './turns.ts'

interface Tools {
  store: Store
  books: Books
  quantities: QuantityBook
  standings: Standings
  audit: ServiceAudit
  charged: Charged
}

/** An account whose plans price something that moves, and what it has at each step. */
interface Payer {
  account: AccountRecord
  lists: readonly PriceList[]
  counted: Counted
  turn: number
  /** Read when something is to be given back. */
  charged?: ChargedItems
  /** Whether anything on its invoices changes. */
  isConcerned: boolean
}

// Each lost turn is somebody else's success: this many in a row do not happen.
const mostTries = 100

const amountOf = (compared: readonly ComparedInvoice[]) =>
  compared.reduce((sum, invoice) => sum + Math.max(0, riseOf(invoice)) + invoice.today, 0)

/**
 * Stands before every write that moves counts, whatever area it comes from. Whoever pays for what moves is found,
 * priced before and after, asked if it is the one who wants it, and charged what was agreed to: its audit entries and
 * its ledger are written with the change itself. Prices that change later change nothing of that, and of two who were
 * priced for the same place one is priced anew. Accounts without plans are not even looked at twice.
 */
export const createConsent = (tools: Tools): Gate => {
  const { store, books, standings, audit, quantities, charged } = tools
  const { clock } = store
  const turns = createTurnStore(store)
  const taking = createQueueing()

  const treeOf = async (accountId: string) => (await books.account(accountId))?.hidden.tree ?? []

  const open = async (accountId: string): Promise<Payer | undefined> => {
    const account = await books.account(accountId)
    if (!account) return undefined
    // Before what it counts: a turn that is taken in between is noticed by the write.
    const turn = await turns.of(accountId)
    const { lists } = await books.terms(account)
    return lists.length === 0
      ? undefined
      : { account, lists, counted: await books.counted(accountId), turn, isConcerned: false }
  }

  const paying = async (accountId: string) => {
    const account = await books.account(accountId)
    return account !== undefined && (await books.terms(account)).lists.length > 0
  }

  /** Those who pay for what change sets move, by their ids. */
  const payersOf = async (sets: readonly ChangeSet[]): Promise<string[]> => {
    const payerIds: string[] = []
    for (const id of await concernedBy(sets, treeOf)) if (await paying(id)) payerIds.push(id)
    return payerIds
  }

  const ask = async ({ account }: Payer, { author }: Request, compared: readonly ComparedInvoice[]) => {
    if (author.authAccountId !== account.id || !compared.some(raisesCharge)) return
    if (!author.acceptsCharges)
      throw failure('charges_not_accepted', { invoices: compared.map(comparedJson) })
    const standing = await standings.of(account, amountOf(compared))
    if (standing.acceptable) return
    const { reason, message = reason } = standing
    throw failure('billing_issue', { reason, message })
  }

  const tell = async (
    { set }: Request,
    { account }: Payer,
    { moves, compared }: { moves: readonly CountMove[]; compared: readonly ComparedInvoice[] },
  ) => {
    const first = elementAt(moves, 0)
    const changed = {
      id: first.accountId,
      name: first.name ?? (await books.account(first.accountId))?.doc.name ?? first.accountId,
    }
    const types = [
      ...(moves.some(({ accountId }) => accountId === account.id) ? (['account'] as const) : []),
      ...(moves.some(({ accountId }) => accountId !== account.id) ? (['cascade'] as const) : []),
    ]
    await audit.add(set, { account, compared, changed, types })
  }

  /** No more is given back than was charged this month: what plans began to price in between was not paid for. */
  const compared = async (payer: Payer, after: Counted): Promise<ComparedInvoice[]> => {
    const { account, lists, counted } = payer
    const invoices = [priceAccount(lists, counted), priceAccount(lists, after)] as const
    const whole = compareInvoices(...invoices, clock.now())
    const givesBack = whole.some(({ prorations }) => prorations.some(({ total }) => total < 0))
    if (!givesBack && !payer.charged) return whole
    const known = payer.charged ?? (await charged.of(account.id))
    payer.charged = known
    return compareInvoices(...invoices, clock.now(), (item) => known.get(itemKey(item)) ?? 0)
  }

  /** What a request means for one who pays. */
  const agree = async (request: Request, payer: Payer) => {
    const { account, counted } = payer
    const moves = request.moves.filter(({ chain }) => chain.includes(account.id))
    if (moves.length === 0) return
    const after = moved(counted, account.id, moves)
    const invoices = await compared(payer, after)
    payer.counted = after
    if (!invoices.some(isChanged)) return
    payer.isConcerned = true
    if (!request.isCorrection) await ask(payer, request, invoices)
    await tell(request, payer, { moves, compared: invoices })
    if (request.isCorrection) return
    if (payer.charged) addAgreed(payer.charged, invoices)
    charged.agreed(request.set, account.id, invoices)
    request.set.tell(chargesAgreed, { account, due: agreedLines(invoices, moves) })
  }

  const judge = async (requests: readonly Request[], payerIds: readonly string[]): Promise<Payer[]> => {
    const payers: Payer[] = []
    for (const id of payerIds) {
      const payer = await open(id)
      if (payer) payers.push(payer)
    }
    for (const request of requests) for (const payer of payers) await agree(request, payer)
    return payers.filter(({ isConcerned }) => isConcerned)
  }

  /** False when somebody else's turn came first. */
  const tryOnce = async (
    sets: readonly ChangeSet[],
    { requests, payerIds }: { requests: readonly Request[]; payerIds: readonly string[] },
    write: () => Promise<void>,
  ): Promise<boolean> => {
    const first = elementAt(sets, 0)
    const takeBack = sets.map((set) => set.checkpoint())
    const payers = await judge(requests, payerIds)
    const turn = turns.take(payers.map(({ account, turn: seen }) => ({ accountId: account.id, turn: seen })))
    first.statements.unshift(...turn.statements)
    try {
      await write()
      return true
    } catch (error) {
      if (!turn.isLost(error)) throw error
      for (const back of takeBack) back()
      return false
    }
  }

  return async (sets, write) => {
    if (!sets.some(isMoving)) return write()
    const payerIds = await payersOf(sets)
    if (payerIds.length === 0) return write()
    const requests = await movesOfSets(sets, { treeOf, quantitiesOf: quantities.of })
    return taking(payerIds, async () => {
      for (let tries = 1; !(await tryOnce(sets, { requests, payerIds }, write)); tries += 1) {
        if (tries === mostTries) throw failure('datastore_conflict', {})
        await store.fence()
      }
    })
  }
}
