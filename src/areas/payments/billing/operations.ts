import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { Failure } from '../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix } from '../../../lib/gregorian.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import { invoiceJson } from '../../services/area.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Books } from '../../services/books.ts'
import type { Invoice } from '../../services/pricing/invoices.ts'
import { billingCycle } from '../../services/rules.ts'
import { bookkeeperKey } from '../../services/synchronization/rules.ts'
import type { Transactions } from '../transactions/operations.ts'
import { raisedToCoin } from '../transactions/rules.ts'
import { type BillDoc, createBillStore, type Progress } from './store.ts'

interface Tools {
  store: Store
  settings: Settings
  books: Books
  bookkeepers: Bookkeepers
  ledgers: Ledgers
  transactions: Transactions
  log: Log
}

const author: Author = { requestId: 'monthly bills' }
const perPage = 100
const atOnce = 10

const isBilled = (error: unknown) => error instanceof Failure && error.kind === 'booked_already'

export type Billing = ReturnType<typeof createBilling>

/** On the first of each month every account is billed for what its plans come to: once, whatever happens meanwhile. */
export const createBilling = (tools: Tools) => {
  const { store, settings, books, bookkeepers, ledgers, transactions, log } = tools
  const rows = createBillStore(store)
  const { clock } = store

  const currentMonth = () => Number(monthOf(clock.now()))

  /** The month that begins, in Gregorian seconds. */
  const periodOf = (month: number) => {
    const start = gregorianOfUnix(Date.UTC(Math.floor(month / 100), (month % 100) - 1, 1) / 1000)
    return { start, end: billingCycle(clock.now(), gregorianOfUnix).next }
  }

  const debit = (set: ChangeSet, account: AccountRecord, { bookkeeper, recurring }: Invoice, month: number) =>
    ledgers.post(set, account, {
      source: { service: 'services', id: `${month}/${bookkeeper.id}` },
      usage: { type: 'services', quantity: 1, unit: 'month' },
      amount: -recurring,
      identity: ['recurring', account.id, month, bookkeeperKey(bookkeeper)],
      details: {
        description: `Services of ${month}`,
        period: periodOf(month),
        executor: { trigger: 'recurring', module: 'services' },
      },
    })

  /** A bookkeeper that charges is asked for the whole bill, raised to its smallest coin. */
  const charge = async (set: ChangeSet, account: AccountRecord, { bookkeeper, recurring }: Invoice) => {
    const { currency } = await settings.of('services')
    const smallest = bookkeepers.gateway(bookkeeper)?.smallestUnits(currency) ?? 1
    const wanted = {
      type: 'sale',
      amount: raisedToCoin(recurring, smallest),
      description: 'Recurring preemptive top-up',
      trigger: 'recurring',
      module: 'services',
      bookkeeper,
    } as const
    return transactions.open(set, account, wanted)
  }

  const bill = async (account: AccountRecord, invoice: Invoice, month: number) => {
    const { bookkeeper, recurring } = invoice
    const monthly = bookkeepers.gateway(bookkeeper)?.capabilities.monthly ?? 'outside'
    if (monthly === 'outside' || recurring <= 0) return
    const set = new ChangeSet(author)
    const doc: BillDoc = { ledger_id: debit(set, account, invoice, month), invoice: invoiceJson(invoice) }
    if (monthly === 'charge') doc.transaction_id = (await charge(set, account, invoice)).id
    rows.add(set, {
      accountId: account.id,
      month,
      bookkeeper: bookkeeperKey(bookkeeper),
      created: gregorianNow(clock),
      amount: recurring,
      doc,
    })
    try {
      await store.commit(set)
    } catch (error) {
      if (!isBilled(error)) throw error
    }
  }

  /** Whether all went well. What is wrong with one account must not keep the others from being billed. */
  const billAccount = async (accountId: string, month: number): Promise<boolean> => {
    try {
      const account = await books.account(accountId)
      if (account) for (const invoice of await books.invoices(account)) await bill(account, invoice, month)
      return true
    } catch (error) {
      if (error instanceof Failure && error.kind === 'datastore_unreachable') throw error
      log.write('error', 'an account could not be billed', {
        account_id: accountId,
        error: describeError(error),
      })
      return false
    }
  }

  const start = async (): Promise<Progress> => {
    const month = currentMonth()
    const known = await rows.progress()
    // In the month in which a store begins to bill, nothing is owed for the time before.
    if (!known) return { month, afterAccount: '', isDone: true }
    return known.month === month ? known : { month, afterAccount: '', isDone: false }
  }

  const billAll = async (from: Progress, signal: AbortSignal, guard: Statement) => {
    let { afterAccount } = from
    let isGood = true
    while (!signal.aborted) {
      const page = await rows.accountsAfter(afterAccount, perPage)
      for (let at = 0; at < page.length; at += atOnce) {
        if (signal.aborted) return
        const some = page.slice(at, at + atOnce)
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

  const round: Round = {
    name: 'monthly_bills',
    everySeconds: 60,
    async due() {
      const known = await rows.progress()
      return known?.month !== currentMonth() || !known.isDone
    },
    async run(signal, guard) {
      const progress = await start()
      if (progress.isDone) await rows.note(progress, guard)
      else await billAll(progress, signal, guard)
    },
  }

  return { round, of: rows.of }
}
