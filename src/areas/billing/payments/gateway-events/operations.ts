import type { Conclusion, Job, JobKind } from '../../../../jobs/queue.ts'
import { deleteOldRows } from '../../../../jobs/scheduler.ts'
import { isFailure } from '../../../../lib/failure.ts'
import { dayMs, gregorianNow } from '../../../../lib/gregorian.ts'
import { isId } from '../../../../lib/ids.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { GatewayEvent, GatewayEvents, OutsideRefund } from '../../../../payment/gateway.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { bookedAlready } from '../../ledgers/failures.ts'
import type { PaymentDeps } from '../deps.ts'
import type { InvoiceStore } from '../invoices/store.ts'
import { typeTexts } from '../mail-texts.ts'
import { paymentDisputeNotice } from '../notices.ts'
import type { Transactions } from '../transactions/operations.ts'
import { type Transaction, wasGivenUp } from '../transactions/rules.ts'
import { createGatewayEventStore, type DisputeState } from './store.ts'

const disputeStateOf = (status: string): DisputeState =>
  status === 'won' || status === 'lost' ? status : 'open'

/** The change of the payer's balance: 1 returns the money, -1 takes it. Events come in any order; a decision is final. */
const balanceStep = (before: DisputeState | undefined, after: DisputeState): -1 | 0 | 1 => {
  if (before === undefined) return after === 'won' ? 0 : -1
  return before === 'open' && after === 'won' ? 1 : 0
}

const isDecided = (state: DisputeState | undefined) => state === 'won' || state === 'lost'

interface AboutEvent {
  type: string
  vendorId: string
  event: GatewayEvent
}

interface Facts {
  /** Absent if the sale is not ours. */
  sale?: Transaction
  refunds?: readonly OutsideRefund[]
  /** The owner of a changed payment method. */
  accountId?: string
}

const kindName = 'payment_events'
const gatewayAuthor: Author = { requestId: 'payment events' }
// Gateways repeat an event for some days.
const keptDays = 40

type Dispute = Extract<GatewayEvent, { kind: 'dispute' }>

type EventDeps = PaymentDeps & { transactions: Transactions; rows: Pick<InvoiceStore, 'tell'> }

type EventConclusion = Conclusion<AboutEvent>

const done = (outcome: string, sets: ChangeSet[] = []): EventConclusion => ({ state: 'done', outcome, sets })

const subjectOf = (vendorId: string, event: GatewayEvent) =>
  `payment/${vendorId}/${event.kind === 'means' ? event.customer : event.chargeId}`

const eventsOf = ({ bookkeepers }: EventDeps, type: string, vendorId: string): GatewayEvents | undefined =>
  bookkeepers.gateway({ id: '', type, vendor_id: vendorId })?.events

/** Asks the gateway what an event is about. */
const createAsking = (deps: EventDeps) => {
  const { transactions } = deps

  /** The sale with this key, if the vendor's bookkeeper has made it. Others may write anything into metadata. */
  const saleOf = async (key: string | undefined, { type, vendorId, event }: AboutEvent) => {
    const [accountId = '', id = ''] = (key ?? '').split('/')
    const sale = isId(accountId) ? await transactions.find(accountId, id) : undefined
    const { bookkeeper, result } = sale?.doc ?? {}
    const isOurs = sale?.type === 'sale' && bookkeeper?.type === type && bookkeeper.vendor_id === vendorId
    const isThis = result?.id === undefined || event.kind === 'means' || result.id === event.chargeId
    return isOurs && isThis ? sale : undefined
  }

  const isOwnRefund = async (key: string | undefined, { accountId }: Transaction) => {
    const [, id = ''] = (key ?? '').split('/')
    const known = key === undefined ? undefined : await transactions.find(accountId, id)
    return known !== undefined && !wasGivenUp(await transactions.cleared(accountId, known.id))
  }

  return async ({ payload }: Job<AboutEvent>): Promise<Facts> => {
    const { type, vendorId, event } = payload
    const events = eventsOf(deps, type, vendorId)
    if (!events) return {}
    if (event.kind === 'means') {
      const accountId = await events.accountOf(event.customer, vendorId)
      return accountId === undefined ? {} : { accountId }
    }
    const sale = await saleOf(await events.keyOf(event.chargeId, vendorId), payload)
    if (!sale) return {}
    if (event.kind === 'dispute') return { sale }
    const cleared = await transactions.cleared(sale.accountId, sale.id)
    if (event.kind === 'movement') return { sale: cleared }
    const refunds: OutsideRefund[] = []
    for (const refund of await events.refundsOf(event.chargeId, vendorId))
      if (!(await isOwnRefund(refund.key, cleared))) refunds.push(refund)
    return { sale: cleared, refunds }
  }
}

/** Books disputes and reports them to the vendor. */
const createDisputing = (deps: EventDeps) => {
  const { store, books, ledgers, rows: invoices, mail } = deps
  const rows = createGatewayEventStore(store)

  const book = (set: ChangeSet, sale: Transaction, dispute: Dispute, step: -1 | 1) => {
    const payer = { id: sale.accountId, doc: { name: sale.doc.account.name } }
    ledgers.post(set, payer, {
      source: { service: 'payments', id: dispute.disputeId },
      usage: { type: 'dispute', quantity: 1, unit: 'payment' },
      amount: step * dispute.amount,
      identity: ['dispute', sale.accountId, dispute.disputeId, step],
      details: {
        description: step < 0 ? 'Disputed payment' : 'Dispute was won',
        period: { start: gregorianNow(store.clock) },
        executor: { trigger: 'outside', module: 'gateway' },
        metadata: { transaction_id: sale.id },
      },
    })
  }

  const notifyVendor = async (set: ChangeSet, vendorId: string, sale: Transaction, dispute: Dispute) => {
    const vendor = await books.account(vendorId)
    if (!vendor) return
    const { id, type, amount, accountId, doc } = sale
    const values = {
      'transaction.id': id,
      'transaction.type': typeTexts[type],
      'transaction.amount': `${dollarsOfUnits(amount)} ${doc.currency}`,
      'transaction.description': doc.description,
      'payer.id': accountId,
      'payer.name': doc.account.name,
      'dispute.id': dispute.disputeId,
      'dispute.amount': `${dollarsOfUnits(dispute.amount)} ${dispute.currency}`,
      'dispute.status': dispute.status,
      'dispute.reason': dispute.reason,
    }
    await mail.notify(set, { notice: paymentDisputeNotice, account: vendor, to: [], values })
  }

  return async (vendorId: string, sale: Transaction, event: Dispute): Promise<EventConclusion> => {
    const { disputeId: id } = event
    const known = await rows.dispute(vendorId, id)
    const state = disputeStateOf(event.status)
    if (isDecided(known?.state) || known?.state === state) return done(`it is ${known?.state} already`)
    const set = new ChangeSet(gatewayAuthor)
    const { accountId } = sale
    rows.moveDispute(set, known?.state, { vendorId, id, accountId, state })
    const step = balanceStep(known?.state, state)
    if (step !== 0) book(set, sale, event, step)
    const { invoice_id: invoiceId } = sale.doc
    if (invoiceId !== undefined)
      invoices.tell(set, { accountId, id: invoiceId }, 'payment_disputed', { dispute_id: id, state })
    await notifyVendor(set, vendorId, sale, event)
    return done(`the dispute is ${state}`, [set])
  }
}

const createHandling = (deps: EventDeps): JobKind<AboutEvent, Facts> => {
  const { books, transactions, paymentTokens } = deps
  const dispute = createDisputing(deps)

  const adoptRefunds = async (sale: Transaction, refunds: readonly OutsideRefund[]) => {
    const account = await books.account(sale.accountId)
    const carriedOut = refunds.filter(({ isDone }) => isDone)
    if (!account || carriedOut.length === 0) return done('nothing was refunded')
    const sets: ChangeSet[] = []
    let left = sale
    for (const one of carriedOut) {
      const set = new ChangeSet(gatewayAuthor)
      const id = await transactions.adopt(set, account, left, one)
      if (id === undefined) continue
      left = { ...left, refunded: left.refunded + one.amount }
      sets.push(set)
    }
    return done(`${sets.length} refunds are booked`, sets)
  }

  const refresh = async ({ type, vendorId, event }: AboutEvent, accountId: string | undefined) => {
    if (event.kind !== 'means' || accountId === undefined) return done('no account has it')
    const set = new ChangeSet(gatewayAuthor)
    const bookkeeper = { type, vendor_id: vendorId }
    const isKnown = await paymentTokens.refresh(set, accountId, { ...event, bookkeeper })
    return isKnown ? done('the payment method is up to date', [set]) : done('no account has it')
  }

  return {
    kind: kindName,
    ask: createAsking(deps),

    async conclude({ payload }, facts) {
      const { vendorId, event } = payload
      if (event.kind === 'means') return refresh(payload, facts.accountId)
      if (!facts.sale) return done('it belongs to no sale of this server')
      // Read again: the loser of a race sees what the winner did.
      const sale = await transactions.get(facts.sale.accountId, facts.sale.id)
      if (event.kind === 'refunds') return adoptRefunds(sale, facts.refunds ?? [])
      return event.kind === 'dispute'
        ? dispute(vendorId, sale, event)
        : done(`the transaction is ${sale.status}`)
    },
  }
}

interface PostedEvent {
  type: string
  vendorId: string
  bytes: Buffer
  signature: string
}

export type GatewayEventIntake = ReturnType<typeof createGatewayEvents>

/** Events of gateways: stored once and acknowledged at once. A job handles them. */
export const createGatewayEvents = (deps: EventDeps) => {
  const { store } = deps
  const rows = createGatewayEventStore(store)

  return {
    kind: createHandling(deps),

    tidying: deleteOldRows(store, {
      name: 'payment event ids',
      everySeconds: 24 * 3600,
      table: 'payment_events',
      key: ['vendor_id', 'id'],
      where: 'at < $1',
      before: () => store.clock.now() - keptDays * dayMs,
    }),

    isAwaited: async (type: string, vendorId: string) =>
      isId(vendorId) && (await eventsOf(deps, type, vendorId)?.isAwaited(vendorId)) === true,

    async take(
      by: Author,
      { type, vendorId, bytes, signature }: PostedEvent,
    ): Promise<'accepted' | 'duplicate' | 'ignored' | 'not genuine'> {
      const read = await eventsOf(deps, type, vendorId)?.read(vendorId, bytes, signature)
      if (!read) return 'not genuine'
      const { id, event } = read
      if (!event) return 'ignored'
      const set = new ChangeSet(by)
      rows.take(set, vendorId, id, store.clock.now())
      set.job<AboutEvent>({
        kind: kindName,
        id: `${vendorId}/${id}`,
        accountId: vendorId,
        subject: subjectOf(vendorId, event),
        payload: { type, vendorId, event },
      })
      try {
        await store.commit(set)
        return 'accepted'
      } catch (error) {
        if (isFailure(error, bookedAlready)) return 'duplicate'
        throw error
      }
    },
  }
}
