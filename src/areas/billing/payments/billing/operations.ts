import type { AccountRecord } from '../../../../auth/identity.ts'
import type { ScheduledJob } from '../../../../jobs/scheduler.ts'
import { isFailure, isOutage } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { describeError } from '../../../../lib/log.ts'
import { monthNumber } from '../../../../lib/time-key.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Gate } from '../../../../storage/store.ts'
import { bookedAlready } from '../../ledgers/failures.ts'
import { dueMonthly, invoiceJson } from '../../services/area.ts'
import type { Invoice } from '../../services/pricing/invoices.ts'
import { bookkeeperKey } from '../../services/rules.ts'
import type { PaymentDeps } from '../deps.ts'
import type { Composed, InvoiceIssuing, Sheet } from '../invoices/issuing.ts'
import { monthPeriod } from '../invoices/rules.ts'
import { topupPauseMs } from '../topup/operations.ts'
import type { Transactions } from '../transactions/operations.ts'
import { raisedToCoin } from '../transactions/rules.ts'
import { type Bill, type BillingProgress, createBillStore } from './store.ts'

const billingAuthor: Author = { requestId: 'monthly bills' }
const perPage = 100
const maxConcurrentBills = 10
const behindAllIds = '~'

type MonthBill = Pick<Bill, 'month' | 'doc'>

/** Another process may have billed the same month. */
const unlessBilled = async (write: () => Promise<void>) => {
  try {
    await write()
  } catch (error) {
    if (!isFailure(error, bookedAlready)) throw error
  }
}

type BillingDeps = PaymentDeps & { transactions: Transactions; issuing: InvoiceIssuing }

/** Adds what a month costs to a bill: its ledger entries, and the charge. */
const chargingMonths = ({ bookkeepers, ledgers, transactions }: BillingDeps) => ({
  /** Returns the ids of the entries. */
  debit(set: ChangeSet, account: AccountRecord, invoice: Invoice, month: number): string[] {
    const { from, to } = monthPeriod(month)
    const key = bookkeeperKey(invoice.bookkeeper)
    return dueMonthly(invoice, month).map((line) =>
      ledgers.post(set, account, {
        source: { service: line.service, id: `${month}/${invoice.bookkeeper.id}` },
        usage: line.usage,
        amount: -line.amount,
        identity: ['recurring', account.id, month, key, ...(line.key === 'month' ? [] : [line.key])],
        details: {
          description: line.description,
          period: { start: from, end: to + 1 },
          executor: { trigger: 'recurring', module: 'services' },
          ...(line.metadata ? { metadata: line.metadata } : {}),
        },
      }),
    )
  },

  /** Charges what is due, raised to the gateway's smallest coin. */
  async chargeIfDue(set: ChangeSet, account: AccountRecord, { id, doc }: Composed) {
    if (doc.collection !== 'charge' || doc.amountDue <= 0) return undefined
    const smallest = bookkeepers.gateway(doc.bookkeeper)?.smallestUnits(doc.currency) ?? 1
    const transaction = await transactions.open(set, account, {
      ...{ type: 'sale', trigger: 'recurring', module: 'services' },
      amount: raisedToCoin(doc.amountDue, smallest),
      description: 'Recurring preemptive top-up',
      bookkeeper: doc.bookkeeper,
      invoiceId: id,
    })
    return transaction.id
  },
})

/** Bills an account for a month. */
const accountBilling = (deps: BillingDeps, rows: ReturnType<typeof createBillStore>) => {
  const { store, books, charged, issuing, log } = deps
  const { debit, chargeIfDue } = chargingMonths(deps)

  const addBill = (set: ChangeSet, { id: accountId }: AccountRecord, invoice: Invoice, bill: MonthBill) => {
    charged.billed(set, accountId, { month: bill.month, invoice })
    const created = gregorianNow(store.clock)
    const bookkeeper = bookkeeperKey(invoice.bookkeeper)
    rows.add(set, { accountId, ...bill, bookkeeper, created, amount: invoice.total })
  }

  /** Ledger entries, document, charge and their consequences are one commit. */
  const bill = async (account: AccountRecord, sheet: Sheet, month: number) => {
    const set = new ChangeSet(billingAuthor)
    const composed = await issuing.compose(account, sheet, month)
    const { priced } = sheet
    const entryIds = priced ? debit(set, account, priced, month) : []
    const attempt = await chargeIfDue(set, account, composed)
    await issuing.issue(set, { composed, sheet, month, entryIds, attempt: attempt ?? '' })
    if (priced) {
      const paidBy = attempt === undefined ? {} : { transaction_id: attempt }
      const doc = { ledger_id: entryIds[0] ?? '', ...paidBy, invoice: invoiceJson(priced) }
      addBill(set, account, priced, { month, doc })
    }
    await unlessBilled(() => store.commit(set))
  }

  /**
   * A month that costs nothing at its start is marked as billed, without a document: additions then pay for their
   * days.
   */
  const noteNothing = async (account: AccountRecord, month: number, billed: ReadonlySet<string>) => {
    for (const priced of await books.invoices(account)) {
      if (priced.total > 0 || billed.has(bookkeeperKey(priced.bookkeeper))) continue
      const set = new ChangeSet(billingAuthor)
      addBill(set, account, priced, { month, doc: { ledger_id: '', invoice: {} } })
      await unlessBilled(() => store.writeUnrecorded(set.statements))
    }
  }

  /** Returns whether it succeeded. A fault of one account does not stop the bills of others. */
  return async (accountId: string, month: number): Promise<boolean> => {
    try {
      const account = await books.account(accountId)
      if (!account) return true
      const billed = await rows.billed(accountId, month)
      for (const sheet of await issuing.sheets(account, month, billed)) await bill(account, sheet, month)
      await noteNothing(account, month, billed)
      return true
    } catch (error) {
      if (isOutage(error)) throw error
      log.write('error', 'an account could not be billed', {
        account_id: accountId,
        error: describeError(error),
      })
      return false
    }
  }
}

export type Billing = ReturnType<typeof createBilling>

/** On the first of each month every account is billed for its plans, exactly once. */
export const createBilling = (deps: BillingDeps) => {
  const { store, books, ledgers } = deps
  const rows = createBillStore(store)
  const billAccount = accountBilling(deps, rows)

  const currentMonth = () => monthNumber(store.clock.now())

  const billAll = async (from: BillingProgress, signal: AbortSignal, guard: Statement) => {
    let { afterAccount } = from
    let isGood = true
    while (!signal.aborted) {
      const page = await rows.accountsAfter(afterAccount, perPage)
      for (let at = 0; at < page.length; at += maxConcurrentBills) {
        if (signal.aborted) return
        const some = page.slice(at, at + maxConcurrentBills)
        const results = await Promise.all(some.map((accountId) => billAccount(accountId, from.month)))
        isGood &&= results.every(Boolean)
      }
      afterAccount = page.at(-1) ?? afterAccount
      const isLast = page.length < perPage
      if (isLast && !isGood) afterAccount = ''
      await rows.note({ month: from.month, afterAccount, isDone: isLast && isGood }, guard)
      if (isLast) return
    }
  }

  const job: ScheduledJob = {
    name: 'monthly_bills',
    everySeconds: 60,
    async due() {
      const known = await rows.progress()
      return known?.month !== currentMonth() || !known.isDone
    },
    async run(signal, guard) {
      const month = currentMonth()
      const known = await rows.progress()
      // The month in which a store begins to bill owes nothing for earlier months.
      if (!known) return rows.note({ month, afterAccount: '', isDone: true }, guard)
      if (known.month !== month) return billAll({ month, afterAccount: '', isDone: false }, signal, guard)
      return known.isDone ? rows.note(known, guard) : billAll(known, signal, guard)
    },
  }

  let doneMonth = 0

  return {
    job,
    of: rows.of,

    /**
     * Adds to a change set that everything up to now was billed by another system: its bookings get no invoice here,
     * this month is not billed again, and no account is topped up twice in a day. Steps before the commit may be
     * repeated.
     */
    async takeOver(set: ChangeSet): Promise<void> {
      await ledgers.importer.settle()
      const topupsSince = store.clock.now() - topupPauseMs
      let after = ''
      for (;;) {
        const last = (await rows.accountsAfter(after, perPage)).at(-1)
        await rows.coverWithin({ after, last: last ?? behindAllIds, topupsSince })
        if (last === undefined) break
        after = last
      }
      rows.noteDone(set, currentMonth())
    },

    /** Whether all accounts are billed for the current month. */
    async isDone(): Promise<boolean> {
      const month = currentMonth()
      if (doneMonth === month) return true
      const known = await rows.progress()
      const isDone = !known || (known.month === month && known.isDone)
      if (isDone && known) doneMonth = month
      return isDone
    },

    /** Bills an account for the current month, if that is still to be done. */
    async catchUp(accountId: string): Promise<void> {
      const month = currentMonth()
      const account = await books.account(accountId)
      const { lists } = account ? await books.terms(account) : { lists: [] }
      if (lists.length === 0) return
      const billed = await rows.billed(accountId, month)
      if (lists.every(({ bookkeeper }) => billed.has(bookkeeperKey(bookkeeper)))) return
      await billAccount(accountId, month)
    },
  }
}

/** Accounts whose bills a change set may affect. New accounts were never billed. */
const concerned = ({ counts, newcomers, transfers }: ChangeSet): string[] => [
  ...counts.map(({ accountId }) => accountId),
  ...transfers.flatMap(({ accountId, from, to = [] }) => [accountId, ...from, ...to]),
  ...[...newcomers.values()].flatMap(({ tree }) => tree),
]

/**
 * Bills the month before a change of what it is billed for. Otherwise an addition on the first of the month would be
 * paid for twice. Counts of a sub-account may be billed to any of its parents.
 */
export const createBillingGate =
  ({ isDone, catchUp }: Pick<Billing, 'isDone' | 'catchUp'>, { books }: Pick<PaymentDeps, 'books'>): Gate =>
  async (sets, write) => {
    const accountIds = [...new Set(sets.flatMap(concerned))]
    if (accountIds.length > 0 && !(await isDone())) {
      const chains = await Promise.all(accountIds.map(async (id) => [id, ...(await books.treeOf(id))]))
      for (const accountId of new Set(chains.flat())) await catchUp(accountId)
    }
    return write(sets)
  }
