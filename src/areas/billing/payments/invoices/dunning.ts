import type { AccountRecord } from '../../../../auth/identity.ts'
import type { Conclusion, Job, JobKind } from '../../../../jobs/queue.ts'
import { dayMs, gregorianNow, gregorianOfUnix, unixOfGregorian } from '../../../../lib/gregorian.ts'
import type { Json } from '../../../../lib/json.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { SettingsOf } from '../../../../settings/keys.ts'
import { ChangeSet } from '../../../../storage/change-set.ts'
import type { PaymentDeps } from '../deps.ts'
import { balanceTooLow, statusTexts } from '../mail-texts.ts'
import { accountDelinquentNotice, invoiceNotice, paymentGraceNotice, paymentRetryNotice } from '../notices.ts'
import { dunningSettings } from '../settings.ts'
import type { PaymentOrder, Transactions } from '../transactions/operations.ts'
import {
  isOpen,
  raisedToCoin,
  type Transaction,
  type TransactionStatus,
  type Trigger,
} from '../transactions/rules.ts'
import { type AboutInvoice, dunningKind, type InvoiceIssuing, invoiceMailKind } from './issuing.ts'
import {
  type InvoiceDocument,
  invoiceNumber,
  invoiceRow,
  isOverdue,
  itemisedSources,
  mayBecome,
  numberText,
  toPay,
} from './rules.ts'
import type { InvoiceStore } from './store.ts'

// Later than every month.
const afterAllMonths = 999_912

const amountSum = (parts: readonly { amount: number }[]) => parts.reduce((sum, { amount }) => sum + amount, 0)

/** A draft is never stored. */
const isIssued = <I extends InvoiceDocument>(
  invoice: I,
): invoice is I & { status: Exclude<InvoiceDocument['status'], 'draft'> } => invoice.status !== 'draft'

type InvoiceProgress = ReturnType<typeof createInvoiceProgress>

export interface InvoiceDeps extends PaymentDeps {
  rows: InvoiceStore
  issuing: InvoiceIssuing
  progress: InvoiceProgress
  transactions: Transactions
}

/** How invoices become paid. */
export const createInvoiceProgress = (
  { store, ledgers, bookkeepers }: Pick<PaymentDeps, 'store' | 'ledgers' | 'bookkeepers'>,
  rows: InvoiceStore,
) => {
  /** Units that an account lacks for each unpaid invoice. Money pays the oldest one first. */
  const shortfalls = async (accountId: string): Promise<{ invoice: InvoiceDocument; missing: number }[]> => {
    const debt = -(await ledgers.balance(accountId))
    if (debt <= 0) return []
    const booked = [
      ...(await ledgers.withoutDocument(accountId, itemisedSources, afterAllMonths)),
      ...(await rows.usageBefore(accountId, afterAllMonths)),
    ]
    const uninvoiced = await rows.uninvoiced(accountId)
    let left = debt - Math.max(0, -amountSum(booked))
    const newestFirst = (await rows.unpaid(accountId)).reverse()
    return newestFirst.map((invoice) => {
      const owedLater = -amountSum(uninvoiced.filter(({ month }) => month >= invoice.month))
      const missing = Math.max(0, left - Math.max(0, owedLater))
      left -= toPay(invoice)
      return { invoice, missing }
    })
  }

  const missingFor = async ({ accountId, id }: InvoiceDocument): Promise<number> =>
    (await shortfalls(accountId)).find(({ invoice }) => invoice.id === id)?.missing ?? 0

  /** Ends the delinquency of an account unless an invoice is overdue. `settled`: one that this change set ends. */
  const restore = async (set: ChangeSet, accountId: string, settled?: string) => {
    const now = gregorianNow(store.clock)
    const isLate = ({ invoice, missing }: { invoice: InvoiceDocument; missing: number }) =>
      invoice.id !== settled && missing > 0 && isOverdue(invoice, now)
    if ((await shortfalls(accountId)).some(isLate)) return
    await bookkeepers.note(set, accountId, 'payment_declined', true)
  }

  const settle = (set: ChangeSet, invoice: InvoiceDocument, by: Json) => {
    if (!isIssued(invoice) || !mayBecome(invoice.status, 'pay')) return
    rows.move(set, invoice, { status: 'paid' })
    rows.tell(set, invoice, 'paid', by)
  }

  /** Runs the dunning of an account now, because its money has changed. */
  const hurry = (set: ChangeSet, accountId: string) => rows.hurry(set, accountId, dunningKind)

  return {
    hurry,
    missingFor,
    restore,

    async payByBalance(set: ChangeSet, invoice: InvoiceDocument) {
      settle(set, invoice, { by: 'balance' })
      await restore(set, invoice.accountId, invoice.id)
    },

    /** The sale that pays an invoice, raised to the gateway's smallest coin. */
    paymentOf(invoice: InvoiceDocument, trigger: Trigger, module: string): PaymentOrder {
      const { bookkeeper, currency } = invoice.doc
      const smallest = bookkeepers.gateway(bookkeeper)?.smallestUnits(currency) ?? 1
      const amount = raisedToCoin(toPay(invoice), smallest)
      const description = `Invoice ${invoiceNumber(invoice)}`
      return { type: 'sale', amount, description, trigger, module, bookkeeper, invoiceId: invoice.id }
    },

    /** Applies the end of a transaction to the invoice that it pays. */
    async ended(set: ChangeSet, transaction: Transaction, status: TransactionStatus) {
      const { accountId, id, type, amount, doc } = transaction
      if (type !== 'sale') return
      if (status === 'completed') await restore(set, accountId, doc.invoice_id)
      if (doc.invoice_id === undefined) return
      const invoice = await rows.get(accountId, doc.invoice_id)
      if (status === 'completed') settle(set, invoice, { transaction_id: id, amount: dollarsOfUnits(amount) })
      else rows.tell(set, invoice, 'payment_declined', { transaction_id: id })
      hurry(set, accountId)
    },
  }
}

/** Times in Unix milliseconds. */
interface Dunning extends AboutInvoice {
  stage?: 'trying' | 'grace' | 'delinquent'
  /** When it was first refused, or should have been paid from a balance. */
  since?: number
  /** The number of repeated attempts. */
  tried?: number
  /** The transaction of the last attempt. */
  asked?: string
  nextAt?: number
}

interface Case {
  account: AccountRecord
  invoice: InvoiceDocument
  dunning: Dunning
  rules: SettingsOf<typeof dunningSettings>
  set: ChangeSet
  attempt: Transaction | undefined
}

type DunningStep = Conclusion<Dunning>

const paymentCheckMs = 3_600_000

const dayText = (unixMs: number) => new Date(unixMs).toISOString().slice(0, 10)

/** Values of mail templates. */
const invoiceValues = ({ id, number, doc, ...invoice }: InvoiceDocument) => ({
  'invoice.id': id,
  'invoice.number': number ? numberText(number) : '',
  'invoice.total': `${dollarsOfUnits(doc.total)} ${doc.currency}`,
  'invoice.to_pay': `${dollarsOfUnits(toPay({ doc, ...invoice }))} ${doc.currency}`,
  'invoice.due': dayText(unixOfGregorian(doc.due) * 1000),
})

const setsOf = (set: ChangeSet) => (set.changes.length === 0 ? [] : [set])

const wait = ({ set, dunning }: Case, outcome: string, dueAt: number, next: Partial<Dunning> = {}) =>
  ({ state: 'waiting', sets: setsOf(set), outcome, payload: { ...dunning, ...next }, dueAt }) as const

/** The steps of an account that does not pay. */
const dunningSteps = ({ store, bookkeepers, transactions, progress, rows, mail }: InvoiceDeps) => {
  const { clock } = store

  /** Sends the mail and the events of a step. */
  const tell = async (
    { set, account, invoice, attempt, dunning }: Case,
    notice: typeof paymentRetryNotice,
    nextAt: number,
  ) => {
    const { reason = 'declined', message = reason } = attempt?.doc.result ?? {}
    const values = {
      ...invoiceValues(invoice),
      'payment.reason': attempt ? message : balanceTooLow,
      'payment.next': dayText(nextAt),
    }
    await mail.notify(set, { notice, account, to: [], senderName: invoice.doc.issuer.name, values })
    rows.tell(set, invoice, notice.id, { next: gregorianOfUnix(nextAt / 1000) })
    // The first step is taken because the invoice is overdue.
    const first = dunning.stage === undefined ? ({ event: 'invoice.overdue' } as const) : {}
    const after = JSON.stringify(invoiceRow(invoice))
    set.record({ accountId: account.id, kind: 'invoice', id: invoice.id, action: 'edited', after, ...first })
  }

  const refused = async (one: Case, since: number, tried: number): Promise<DunningStep> => {
    const { attempt_days: days, grace_days: grace } = one.rules
    const day = days[tried]
    if (day === undefined) {
      const nextAt = clock.now() + grace * dayMs
      await tell(one, paymentGraceNotice, nextAt)
      return wait(one, 'not paid: grace period', nextAt, { stage: 'grace', since, tried, nextAt })
    }
    const nextAt = since + day * dayMs
    await tell(one, paymentRetryNotice, nextAt)
    const outcome = `not paid: attempt ${tried + 1} of ${days.length} follows`
    return wait(one, outcome, nextAt, { stage: 'trying', since, tried, nextAt })
  }

  return {
    refused,

    begin(one: Case): DunningStep | Promise<DunningStep> {
      const { doc } = one.invoice
      if (doc.collection === 'charge') return refused(one, clock.now(), 0)
      if (!one.rules.of_balances) return wait(one, 'waits for the balance', clock.now() + dayMs)
      const dueAt = unixOfGregorian(doc.due) * 1000
      return clock.now() < dueAt ? wait(one, 'is not due', dueAt) : refused(one, dueAt, 0)
    },

    async trying(one: Case): Promise<DunningStep> {
      const { set, account, invoice, dunning } = one
      const { since = clock.now(), tried = 0 } = dunning
      if (invoice.doc.collection === 'balance') return refused(one, since, tried + 1)
      const order = progress.paymentOf(invoice, 'recurring', 'dunning')
      const { id } = await transactions.open(set, account, order)
      rows.move(set, invoice, { status: 'open', attempt: id })
      rows.tell(set, invoice, 'payment_attempt', { transaction_id: id, attempt: tried + 1 })
      const next = { since, tried: tried + 1, asked: id }
      return wait(one, `attempt ${tried + 1}`, clock.now() + paymentCheckMs, next)
    },

    async grace(one: Case): Promise<DunningStep> {
      const nextAt = clock.now() + one.rules.uncollectible_days * dayMs
      await bookkeepers.note(one.set, one.account.id, 'payment_declined', false)
      await tell(one, accountDelinquentNotice, nextAt)
      return wait(one, 'the account is delinquent', nextAt, { stage: 'delinquent', nextAt })
    },

    delinquent(one: Case): DunningStep {
      const { set, invoice, rules } = one
      if (rules.uncollectible_days === 0) return wait(one, 'waits for a payment', clock.now() + dayMs)
      rows.move(set, invoice, { status: 'uncollectible' })
      rows.tell(set, invoice, 'uncollectible')
      return { state: 'done', sets: [set], outcome: 'uncollectible' }
    },
  }
}

/**
 * Collects an invoice: repeats refused payments on some days, then waits for days of grace, then marks the account as
 * delinquent. Each step is one commit with its mail and event. Money that comes in ends it.
 */
export const createDunning = (deps: InvoiceDeps): JobKind<Dunning> => {
  const { store, settings, books, transactions, progress, rows } = deps
  const { clock } = store
  const steps = dunningSteps(deps)

  const step = (one: Case): DunningStep | Promise<DunningStep> => {
    const { dunning, attempt, invoice } = one
    const { stage, nextAt = 0, since = 0, tried = 0, asked } = dunning
    if (stage === undefined) return steps.begin(one)
    // The attempt of the last step was refused.
    if (stage === 'trying' && asked !== undefined && attempt && asked === invoice.attempt)
      return steps.refused({ ...one, dunning: withoutAsked(dunning) }, since, tried)
    if (clock.now() < nextAt) return wait(one, 'waits', nextAt)
    return steps[stage](one)
  }

  return {
    kind: dunningKind,
    async conclude({ payload }: Job<Dunning>): Promise<DunningStep> {
      const { accountId, invoiceId } = payload
      const account = await books.account(accountId)
      const invoice = await rows.find(accountId, invoiceId)
      if (!account || !invoice) return { state: 'done', outcome: 'the account no longer exists' }
      const set = new ChangeSet({ requestId: 'dunning', acceptsCharges: true })
      if (!isIssued(invoice) || !mayBecome(invoice.status, 'write_off')) {
        // Two invoices that were paid at the same time may each have found the other one open.
        await progress.restore(set, accountId)
        return { state: 'done', sets: setsOf(set), outcome: `it is ${invoice.status}` }
      }
      const attempt = invoice.attempt === '' ? undefined : await transactions.get(accountId, invoice.attempt)
      const rules = await settings.of(dunningSettings)
      const one: Case = { account, invoice, dunning: payload, rules, set, attempt }
      if (attempt && isOpen(attempt))
        return wait(one, 'a payment is in progress', clock.now() + paymentCheckMs)
      if ((await progress.missingFor(invoice)) > 0) return step(one)
      await progress.payByBalance(set, invoice)
      return { state: 'done', sets: [set], outcome: 'covered by the balance' }
    },
  }
}

const withoutAsked = ({ asked: _, ...dunning }: Dunning): Dunning => dunning

/** Mails an invoice to the admins of its account. It is a job because the commit gives the invoice its number. */
export const createInvoiceMailing = ({ books, rows, mail }: InvoiceDeps): JobKind<AboutInvoice> => ({
  kind: invoiceMailKind,
  async conclude({ payload: { accountId, invoiceId } }) {
    const account = await books.account(accountId)
    const invoice = await rows.find(accountId, invoiceId)
    if (!account || !invoice?.number) return { state: 'done', outcome: 'the account no longer exists' }
    const set = new ChangeSet({ requestId: 'invoices' })
    await mail.notify(set, {
      notice: invoiceNotice,
      account,
      to: [],
      senderName: invoice.doc.issuer.name,
      values: { ...invoiceValues(invoice), 'invoice.status': statusTexts[invoice.status] },
      attachments: [
        {
          fileName: `invoice-${numberText(invoice.number).replaceAll('/', '-')}.pdf`,
          contentType: 'application/pdf',
          document: { kind: 'invoice', accountId, id: invoiceId },
        },
      ],
    })
    rows.tell(set, invoice, 'mailed')
    set.record({ accountId, kind: 'invoice', id: invoiceId, action: 'edited' })
    return { state: 'done', sets: [set] }
  },
})
