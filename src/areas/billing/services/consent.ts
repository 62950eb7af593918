import type { AccountRecord } from '../../../auth/identity.ts'
import {
  billingIssue,
  chargesNotAccepted,
  datastoreConflict,
  failure,
  isOutage,
  type Quote,
} from '../../../lib/failure.ts'
import { elementAt, zip } from '../../../lib/list.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Gate, Store } from '../../../storage/store.ts'
import { agreedLines } from './agreed.rules.ts'
import type { ServiceAudit } from './audit/operations.ts'
import type { PaymentStatuses } from './bookkeepers.ts'
import type { PricingData } from './books.ts'
import { type Charged, type ChargedItems, compareCharged, withAccepted } from './charged.ts'
import { type CountMove, concernedBy, isMoving, movesOfSets, type Request, removes } from './moves.ts'
import { createPayerLock, type Outcome } from './payer-turns.ts'
import {
  type ComparedInvoice,
  comparedJson,
  type Invoice,
  isChanged,
  priceAccount,
  raisesCharge,
  riseOf,
} from './pricing/invoices.ts'
import type { Counted } from './pricing/items.ts'
import type { PriceList } from './pricing/merge.ts'
import type { QuantityReader } from './quantities/operations.ts'
import { moved } from './quantities/rules.ts'
import { covers, type Quotes, quoteOf } from './quotes.ts'
import { chargesAccepted } from './signals.ts'
import { createTurnStore } from './store.ts'

interface Deps {
  store: Store
  books: PricingData
  quantities: QuantityReader
  standings: PaymentStatuses
  audit: ServiceAudit
  charged: Charged
  quotes: Quotes
}

/** Where an account stands when some of what waits in its turn is agreed to. */
interface SoFar {
  counted: Counted
  /** What these counts cost. */
  invoices: readonly Invoice[]
  /** What was agreed to by then for the rest of the month. */
  charged: ChargedItems
  /** Whether anything on its invoices changes. */
  isConcerned: boolean
}

/** An account whose plans price something that moves. */
interface Payer {
  account: AccountRecord
  lists: readonly PriceList[]
  turn: number
  /** What was charged before this turn: read when something is settled by the day. */
  chargedBefore?: ChargedItems
  soFar: SoFar
}

/** A commit that waits for its payers' turn. */
interface Wish {
  sets: readonly ChangeSet[]
  write: (sets: readonly ChangeSet[]) => Promise<void>
}

// Each lost turn is somebody else's success: this many in a row do not happen.
const maxTries = 100

const amountOf = (compared: readonly ComparedInvoice[]) =>
  compared.reduce((sum, invoice) => sum + Math.max(0, riseOf(invoice)) + invoice.today, 0)

/**
 * Stands before every write that moves counts, whatever area it comes from. Whoever pays for what moves is found,
 * priced before and after, asked if it is the one who wants it, and charged what was agreed to: its audit entries and
 * its ledger are written with the change itself. Prices that change later change nothing of that, and of two who were
 * priced for the same place one is priced anew. Accounts without plans are not even looked at twice.
 *
 * Who waits for the same payers' turn is judged together, each after those before it, and written at once. Whatever may
 * have gone wrong because of the company is judged again alone.
 */
export const createConsent = (tools: Deps): Gate => {
  const { store, books, standings, audit, quantities, charged, quotes } = tools
  const { clock } = store
  const turns = createTurnStore(store)

  const open = async (accountId: string, isRemoving: boolean): Promise<Payer | undefined> => {
    const account = await books.account(accountId)
    if (!account) return undefined
    // Before what it counts: a turn that is taken in between is noticed by the write.
    const turn = await turns.of(accountId)
    const chargedBefore = isRemoving ? await charged.of(accountId) : undefined
    const lists = await books.lists(account, chargedBefore)
    if (lists.length === 0) return undefined
    const counted = await books.counted(accountId, lists)
    const invoices = priceAccount(lists, counted)
    const soFar = { counted, invoices, charged: new Map(), isConcerned: false }
    return { account, lists, turn, soFar, ...(chargedBefore ? { chargedBefore } : {}) }
  }

  /** Those who pay for what change sets move, by their ids. */
  const payersOf = async (sets: readonly ChangeSet[]): Promise<string[]> => {
    const payerIds: string[] = []
    const isRemoving = sets.some(removes)
    for (const id of await concernedBy(sets, books.treeOf))
      if (await books.isPaying(id, isRemoving)) payerIds.push(id)
    return payerIds
  }

  const tellAccepted = (set: ChangeSet, { id }: AccountRecord, compared: readonly ComparedInvoice[]) => {
    const [{ kind, id: bought } = { kind: 'account', id }] = set.changes
    const sum = (of: (invoice: ComparedInvoice) => number) =>
      dollarsOfUnits(compared.reduce((total, invoice) => total + of(invoice), 0))
    const prices = { today: sum(({ today }) => today), recurring: sum(riseOf) }
    const after = JSON.stringify({ for: { kind, id: bought }, ...prices })
    set.happened({ accountId: id, type: 'charge.accepted', kind: 'charge', id, after })
  }

  /** A removal gives back what was charged this month: what plans began to price in between was not paid for. */
  const compare = async (payer: Payer, before: readonly Invoice[], after: readonly Invoice[]) => {
    const readCharged = async () => {
      payer.chargedBefore ??= await charged.of(payer.account.id)
      return payer.chargedBefore
    }
    const terms = { charged: readCharged, agreed: payer.soFar.charged }
    return compareCharged(before, after, clock.now(), terms)
  }

  /** Whether what is asked is accepted at this price. `counted` before the request. */
  const isAccepted = async ({ author, moves }: Request, payer: Payer, counted: Counted, quote: Quote) => {
    if (!author.acceptsCharges) return false
    const terms = author.consent?.terms as readonly PriceList[] | undefined
    if (!terms) return quotes.isAccepted(author, quote)
    const agreed = await compare(
      payer,
      priceAccount(terms, counted),
      priceAccount(terms, moved(counted, payer.account.id, moves)),
    )
    return covers(quoteOf(agreed, moves), quote)
  }

  const ask = async (
    payer: Payer,
    request: Request,
    { counted, compared }: { counted: Counted; compared: readonly ComparedInvoice[] },
  ) => {
    const { account } = payer
    const { set, author } = request
    if (author.authAccountId === undefined || !compared.some(raisesCharge)) return
    const isOwn = author.authAccountId === account.id
    if (!isOwn && !(await books.treeOf(author.authAccountId)).includes(account.id)) return
    const quote = quoteOf(compared, request.moves)
    if (isOwn && !(await isAccepted(request, payer, counted, quote)))
      throw failure(chargesNotAccepted, { invoices: compared.map(comparedJson), ...quote })
    const standing = await standings.of(account, amountOf(compared))
    if (standing.acceptable) return isOwn ? tellAccepted(set, account, compared) : undefined
    const { reason, message = reason } = isOwn ? standing : standings.providersIssue
    throw failure(billingIssue, { reason, message })
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

  /** What a request means for one who pays. */
  const agree = async (request: Request, payer: Payer) => {
    const { account, lists, soFar } = payer
    const moves = request.moves.filter(({ chain }) => chain.includes(account.id))
    if (moves.length === 0) return
    const counted = moved(soFar.counted, account.id, moves)
    const invoices = priceAccount(lists, counted)
    const compared = await compare(payer, soFar.invoices, invoices)
    payer.soFar = { ...soFar, counted, invoices }
    if (!compared.some(isChanged)) return
    if (!request.isCorrection) await ask(payer, { ...request, moves }, { counted: soFar.counted, compared })
    await tell(request, payer, { moves, compared })
    payer.soFar.isConcerned = true
    if (request.isCorrection) return
    payer.soFar.charged = withAccepted(soFar.charged, compared)
    charged.agreed(request.set, account.id, compared)
    request.set.tell(chargesAccepted, { account, due: agreedLines(compared, moves) })
  }

  const openAll = async (payerIds: readonly string[], wishes: readonly Wish[]): Promise<Payer[]> => {
    const isRemoving = wishes.some(({ sets }) => sets.some(removes))
    const payers: Payer[] = []
    for (const id of payerIds) {
      const payer = await open(id, isRemoving)
      if (payer) payers.push(payer)
    }
    return payers
  }

  /** A wish that is refused leaves everything as it was. */
  const judge = async ({ sets }: Wish, payers: readonly Payer[]): Promise<Outcome> => {
    const takeBack = sets.map((set) => set.checkpoint())
    const before = payers.map(({ soFar }) => soFar)
    try {
      // In the turn: what an account that moves brings along is counted now.
      const requests = await movesOfSets(sets, {
        treeOf: books.treeOf,
        quantitiesOf: quantities.of,
      })
      for (const request of requests) for (const payer of payers) await agree(request, payer)
      return 'done'
    } catch (error) {
      for (const back of takeBack) back()
      for (const [payer, soFar] of zip(payers, before)) payer.soFar = soFar
      return { error }
    }
  }

  /** What is agreed to is written at once, or nothing of it. Undefined when somebody else's turn came first. */
  const tryOnce = async (
    payerIds: readonly string[],
    wishes: readonly Wish[],
  ): Promise<Outcome[] | undefined> => {
    const payers = await openAll(payerIds, wishes)
    const takeBack = wishes.flatMap(({ sets }) => sets).map((set) => set.checkpoint())
    const outcomes: Outcome[] = []
    for (const wish of wishes) outcomes.push(await judge(wish, payers))
    const agreed = wishes.filter((_, at) => outcomes[at] === 'done')
    const sets = agreed.flatMap((wish) => wish.sets)
    const [first] = agreed
    if (!first) return outcomes
    const concerned = payers.filter(({ soFar }) => soFar.isConcerned)
    const turn = turns.take(
      concerned.map(({ account, turn: seen }) => ({ accountId: account.id, turn: seen })),
    )
    elementAt(sets, 0).statements.unshift(...turn.statements)
    try {
      await first.write(sets)
      return outcomes
    } catch (error) {
      for (const back of takeBack) back()
      if (turn.isLost(error)) return undefined
      throw error
    }
  }

  const together = async (payerIds: readonly string[], wishes: readonly Wish[]): Promise<Outcome[]> => {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const outcomes = await tryOnce(payerIds, wishes)
      if (outcomes) return outcomes
      await store.fence()
    }
    throw failure(datastoreConflict, {})
  }

  const alone = async (payerIds: readonly string[], wish: Wish): Promise<Outcome> => {
    try {
      return elementAt(await together(payerIds, [wish]), 0)
    } catch (error) {
      return { error }
    }
  }

  /** Undefined for what has to be judged alone. */
  const inCompany = async (
    payerIds: readonly string[],
    wishes: readonly Wish[],
  ): Promise<(Outcome | undefined)[]> => {
    if (wishes.length === 1) return [undefined]
    try {
      const outcomes = await together(payerIds, wishes)
      const firstAgreed = outcomes.indexOf('done')
      // Nobody who was refused before anything was agreed to would have fared better alone.
      return outcomes.map((outcome, at) =>
        outcome === 'done' || firstAgreed < 0 || at < firstAgreed ? outcome : undefined,
      )
    } catch (error) {
      // What may have been written is not written again.
      return wishes.map(() => (isOutage(error) ? { error } : undefined))
    }
  }

  const take = createPayerLock<Wish>(async (payerIds, wishes) => {
    const outcomes: Outcome[] = []
    for (const [wish, outcome] of zip(wishes, await inCompany(payerIds, wishes)))
      outcomes.push(outcome ?? (await alone(payerIds, wish)))
    return outcomes
  })

  return async (sets, write) => {
    if (!sets.some(isMoving)) return write(sets)
    const payerIds = await payersOf(sets)
    if (payerIds.length === 0) return write(sets)
    try {
      await take(payerIds, { sets, write })
    } catch (error) {
      // Not where it is thrown: what was priced in company is priced again alone.
      await quotes.remember(elementAt(sets, 0).author, error)
      throw error
    }
  }
}
