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
import type { Gate } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { agreedLines } from './agreed.rules.ts'
import type { ServiceAudit } from './audit/operations.ts'
import type { PaymentStatuses } from './bookkeepers.ts'
import type { PricingData } from './books.ts'
import { type Charged, type ChargedItems, compareCharged, withAccepted } from './charged.ts'
import { concernedBy, isMoving, type MoveRequest, movesOfSets, removes } from './moves.ts'
import { createPayerLock, type TurnOutcome } from './payer-turns.ts'
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

interface Deps extends DepsOf<'store'> {
  books: PricingData
  quantities: QuantityReader
  standings: PaymentStatuses
  audit: ServiceAudit
  charged: Charged
  quotes: Quotes
}

/** An account after the requests of its turn that were accepted so far. */
interface SoFar {
  counted: Counted
  invoices: readonly Invoice[]
  /** Accepted charges for the rest of the month. */
  charged: ChargedItems
  /** Whether its invoices change. */
  isConcerned: boolean
}

/** An account whose plans price something that changes. */
interface Payer {
  account: AccountRecord
  lists: readonly PriceList[]
  turn: number
  /** Amounts charged before this write. Read only if an item is prorated. */
  chargedBefore: ChargedItems | undefined
  soFar: SoFar
}

/** A commit that waits for its payers. */
interface PendingWrite {
  sets: readonly ChangeSet[]
  write: (sets: readonly ChangeSet[]) => Promise<void>
}

// An attempt fails only if another request has succeeded.
const maxTries = 100

const amountOf = (compared: readonly ComparedInvoice[]) =>
  compared.reduce((sum, invoice) => sum + Math.max(0, riseOf(invoice)) + invoice.today, 0)

const addAccepted = (set: ChangeSet, { id }: AccountRecord, { today, monthly }: Quote) => {
  const [{ kind, id: bought } = { kind: 'account', id }] = set.changes
  const prices = { today: dollarsOfUnits(today), recurring: dollarsOfUnits(monthly) }
  const after = JSON.stringify({ for: { kind, id: bought }, ...prices })
  set.happened({ accountId: id, type: 'charge.accepted', kind: 'charge', id, after })
}

const comparing =
  ({ store, charged }: Deps) =>
  (payer: Payer, before: readonly Invoice[], after: readonly Invoice[]) => {
    const readCharged = async () => {
      payer.chargedBefore ??= await charged.of(payer.account.id)
      return payer.chargedBefore
    }
    const terms = { charged: readCharged, agreed: payer.soFar.charged }
    return compareCharged(before, after, store.clock.now(), terms)
  }

/** Fails unless the request's account accepts the charges. `counted`: before the request. */
const requiringConsent = (deps: Deps, compare: ReturnType<typeof comparing>) => {
  const { books, standings, quotes } = deps

  const isAccepted = async ({ author, moves }: MoveRequest, payer: Payer, counted: Counted, quote: Quote) => {
    if (!author.acceptsCharges) return false
    const terms = author.consent?.terms as readonly PriceList[] | undefined
    if (!terms) return quotes.isAccepted(author, quote)
    const after = moved(counted, payer.account.id, moves)
    const agreed = await compare(payer, priceAccount(terms, counted), priceAccount(terms, after))
    return covers(quoteOf(agreed, moves), quote)
  }

  return async (
    payer: Payer,
    request: MoveRequest,
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
    if (standing.acceptable) return isOwn ? addAccepted(set, account, quote) : undefined
    const { reason, message = reason } = isOwn ? standing : standings.providersIssue
    throw failure(billingIssue, { reason, message })
  }
}

/** Prices one request after the other for one payer. */
const pricing = (deps: Deps) => {
  const { store, books, audit, charged } = deps
  const turns = createTurnStore(store)
  const compare = comparing(deps)
  const requireConsent = requiringConsent(deps, compare)

  const addAudit = async (
    { set, moves }: MoveRequest,
    { account }: Payer,
    compared: readonly ComparedInvoice[],
  ) => {
    const { accountId: id, name = (await books.account(id))?.doc.name ?? id } = elementAt(moves, 0)
    const isOwn = (move: { accountId: string }) => move.accountId === account.id
    const types = [
      ...(moves.some(isOwn) ? (['account'] as const) : []),
      ...(moves.every(isOwn) ? [] : (['cascade'] as const)),
    ]
    await audit.add(set, { account, compared, changed: { id, name }, types })
  }

  return {
    async open(accountId: string, isRemoving: boolean): Promise<Payer | undefined> {
      const account = await books.account(accountId)
      if (!account) return undefined
      // Read before the counts: the write then fails if another one comes in between.
      const turn = await turns.of(accountId)
      const chargedBefore = isRemoving ? await charged.of(accountId) : undefined
      const lists = await books.lists(account, chargedBefore)
      if (lists.length === 0) return undefined
      const counted = await books.counted(accountId, lists)
      const invoices = priceAccount(lists, counted)
      const soFar = { counted, invoices, charged: new Map(), isConcerned: false }
      return { account, lists, turn, soFar, chargedBefore }
    },

    async agree(request: MoveRequest, payer: Payer) {
      const { account, lists, soFar } = payer
      const moves = request.moves.filter(({ chain }) => chain.includes(account.id))
      if (moves.length === 0) return
      const counted = moved(soFar.counted, account.id, moves)
      const invoices = priceAccount(lists, counted)
      const compared = await compare(payer, soFar.invoices, invoices)
      payer.soFar = { ...soFar, counted, invoices }
      if (!compared.some(isChanged)) return
      const own = { ...request, moves }
      if (!request.isCorrection) await requireConsent(payer, own, { counted: soFar.counted, compared })
      await addAudit(own, payer, compared)
      payer.soFar.isConcerned = true
      if (request.isCorrection) return
      payer.soFar.charged = withAccepted(soFar.charged, compared)
      charged.agreed(request.set, account.id, compared)
      request.set.tell(chargesAccepted, { account, due: agreedLines(compared, moves) })
    },
  }
}

/** Writes what is accepted, all or nothing. If another process changes a payer first, it is priced again. */
const writingTogether = (deps: Deps) => {
  const { store, books, quantities } = deps
  const turns = createTurnStore(store)
  const { open, agree } = pricing(deps)

  /** A refused write leaves everything unchanged. */
  const check = async ({ sets }: PendingWrite, payers: readonly Payer[]): Promise<TurnOutcome> => {
    const undo = sets.map((set) => set.checkpoint())
    const before = payers.map(({ soFar }) => soFar)
    try {
      // Read inside the commit: a moved account keeps its current counts.
      const lookups = { treeOf: books.treeOf, quantitiesOf: quantities.of }
      for (const request of await movesOfSets(sets, lookups))
        for (const payer of payers) await agree(request, payer)
      return 'done'
    } catch (error) {
      for (const back of undo) back()
      for (const [payer, soFar] of zip(payers, before)) payer.soFar = soFar
      return { error }
    }
  }

  /** Undefined if another process was first. */
  const tryOnce = async (payerIds: readonly string[], writes: readonly PendingWrite[]) => {
    const isRemoving = writes.some(({ sets }) => sets.some(removes))
    const opened = await Array.fromAsync(payerIds, (id) => open(id, isRemoving))
    const payers = opened.filter((payer) => payer !== undefined)
    const undo = writes.flatMap(({ sets }) => sets).map((set) => set.checkpoint())
    const outcomes = await Array.fromAsync(writes, (write) => check(write, payers))
    const agreed = writes.filter((_, at) => outcomes[at] === 'done')
    const [first] = agreed
    if (!first) return outcomes
    const sets = agreed.flatMap((write) => write.sets)
    const concerned = payers.filter(({ soFar }) => soFar.isConcerned)
    const turn = turns.take(
      concerned.map(({ account, turn: seen }) => ({ accountId: account.id, turn: seen })),
    )
    elementAt(sets, 0).statements.unshift(...turn.statements)
    try {
      await first.write(sets)
      return outcomes
    } catch (error) {
      for (const back of undo) back()
      if (turn.isLost(error)) return undefined
      throw error
    }
  }

  return async (payerIds: readonly string[], writes: readonly PendingWrite[]): Promise<TurnOutcome[]> => {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const outcomes = await tryOnce(payerIds, writes)
      if (outcomes) return outcomes
      await store.fence()
    }
    throw failure(datastoreConflict, {})
  }
}

/**
 * Checks every write that changes counts. Each paying account is priced before and after. The account that
 * requests the change must accept its charges. Its audit entries and ledger entries are part of the same
 * commit. Writes that wait for the same payers are priced one after the other and written together. If a group
 * fails, each write is retried alone.
 */
export const createConsent = (deps: Deps): Gate => {
  const { books, quotes } = deps
  const together = writingTogether(deps)

  const alone = async (payerIds: readonly string[], write: PendingWrite): Promise<TurnOutcome> => {
    try {
      return elementAt(await together(payerIds, [write]), 0)
    } catch (error) {
      return { error }
    }
  }

  /** Undefined for writes that must be tried alone. */
  const inCompany = async (payerIds: readonly string[], writes: readonly PendingWrite[]) => {
    if (writes.length === 1) return [undefined]
    try {
      const outcomes = await together(payerIds, writes)
      const firstAgreed = outcomes.indexOf('done')
      // Refusals before the first accepted write do not depend on the others.
      return outcomes.map((outcome, at) =>
        outcome === 'done' || firstAgreed < 0 || at < firstAgreed ? outcome : undefined,
      )
    } catch (error) {
      // After an outage the write may have happened: it is not repeated.
      return writes.map(() => (isOutage(error) ? { error } : undefined))
    }
  }

  const take = createPayerLock<PendingWrite>(async (payerIds, writes) =>
    Array.fromAsync(
      zip(writes, await inCompany(payerIds, writes)),
      ([write, outcome]) => outcome ?? alone(payerIds, write),
    ),
  )

  return async (sets, write) => {
    if (!sets.some(isMoving)) return write(sets)
    const isRemoving = sets.some(removes)
    const payerIds: string[] = []
    for (const id of await concernedBy(sets, books.treeOf))
      if (await books.isPaying(id, isRemoving)) payerIds.push(id)
    if (payerIds.length === 0) return write(sets)
    try {
      await take(payerIds, { sets, write })
    } catch (error) {
      // Stored here, because a refused write is priced again alone.
      await quotes.remember(elementAt(sets, 0).author, error)
      throw error
    }
  }
}
