import { isSuperduper } from '../../../../auth/identity.ts'
import { accountMember, ancestorOnly } from '../../../../auth/policies.ts'
import type { Listing } from '../../../../http/response/listing.ts'
import { answer, ListResponse } from '../../../../http/response/responses.ts'
import { openWindowQuery, usualTimeWindow } from '../../../../http/response/time-window.ts'
import { type Call, get, put, type Route } from '../../../../http/route.ts'
import { badIdentifier, failure, forbidden } from '../../../../lib/failure.ts'
import { gregorianOfMonth } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import { anyObject, list } from '../../../../lib/schema.ts'
import type { TimeWindow } from '../../../../lib/time-bounds.ts'
import { monthNumber, timeKey } from '../../../../lib/time-key.ts'
import { invalidBookkeeper, noPaymentToken } from '../../../../payment/failures.ts'
import type { CommittedChange } from '../../../../storage/idempotency.ts'
import { itemJson, taxLineJson } from '../../services/area.ts'
import type { Invoice } from '../../services/pricing/invoices.ts'
import { billingCycle, bookkeeperOfKey } from '../../services/rules.ts'
import type { Billing } from '../billing/operations.ts'
import type { Bill } from '../billing/store.ts'
import type { PaymentDeps } from '../deps.ts'
import { paymentFailed } from '../failures.ts'
import { createManualTransactions, type Transactions } from './operations.ts'
import { amountProblems, isOpen, type Transaction, transactionJson, transactionRow } from './rules.ts'
import {
  Balance,
  RecurringRow,
  Subscription,
  TransactionRecord,
  TransactionRequest,
  TransactionRow,
} from './schema.ts'

/** A failed payment is an error; an open one is a 202. */
export const moneyAnswer = (transaction: Transaction | undefined, data: object, created?: string) => {
  if (transaction?.status === 'failed') {
    const { reason = 'declined', message: told = reason } = transaction.doc.result ?? {}
    if (reason === 'no_payment_token') throw failure(noPaymentToken, {})
    throw failure(paymentFailed, { reason, told, transaction: transactionJson(transaction) })
  }
  const message = 'the billing provider has not confirmed the payment yet'
  const open = transaction && isOpen(transaction) ? { status: 202, message } : {}
  return answer({ data, ...open, ...(created === undefined ? {} : { created }) })
}

const movedAnswer = (transaction: Transaction) =>
  moneyAnswer(transaction, transactionJson(transaction), transaction.id)

export const moneyFailures = [noPaymentToken, paymentFailed, invalidBookkeeper]

const base = '/v2/accounts/{account_id}/transactions'

type Moving = Call<typeof base, TransactionRequest>

/** The vendor of a bookkeeper and the operator may move money by it. */
const mayAct =
  ({ actor }: Pick<Call, 'actor'>) =>
  (vendorId: string) =>
    actor.accountId === vendorId || isSuperduper(actor)

export const transactionRoutes = (
  deps: PaymentDeps & { transactions: Transactions },
  billing: Billing,
): Route[] => {
  const { transactions, ledgers, services } = deps
  const { clock } = deps.store
  const manual = createManualTransactions(transactions, deps)

  const listing = (accountId: string, window: TimeWindow): Listing<Transaction> => ({
    page: (request) => transactions.page({ accountId, ...window, ...request }),
    cursor: ({ created, place }) => [timeKey(created), place],
    row: (transaction) => JSON.stringify(transactionRow(transaction)),
    record: transactionJson,
  })

  const again = async ({ path }: Pick<Moving, 'path'>, changes: readonly CommittedChange[]) => {
    const made = changes.find(({ kind }) => kind === 'transaction')
    return movedAnswer(await transactions.cleared(path.account_id, made?.id ?? ''))
  }

  const moving = {
    allow: ancestorOnly,
    body: TransactionRequest,
    judge: async ({ data }: { data: { amount?: unknown } }) =>
      amountProblems(data.amount, {
        required: 'Amount is required',
        minimum: 'Amount must be greater than 0',
      }),
    answers: TransactionRecord,
    fails: moneyFailures,
    again,
  }

  return [
    get(base, {
      summary: 'List the payments and refunds of an account',
      allow: accountMember,
      query: openWindowQuery,
      answers: TransactionRow,
      list: true,
      run: async (call) =>
        new ListResponse(listing(call.account.id, await usualTimeWindow(deps, call.query))),
    }),
    get(`${base}/current_balance`, {
      summary: 'Read the balance of an account',
      allow: accountMember,
      answers: Balance,
      run: async ({ account }) => ({ balance: dollarsOfUnits(await ledgers.balance(account.id)) }),
    }),
    get(`${base}/monthly_recurring`, {
      summary: 'List the monthly bills of an account, the newest first',
      isLong: true,
      allow: accountMember,
      query: openWindowQuery,
      answers: list(RecurringRow),
      run: async (call) => {
        const { from, to } = await usualTimeWindow(deps, call.query)
        return (await billing.of(call.account.id, from, to)).map(billJson)
      },
    }),
    get(`${base}/subscriptions`, {
      summary: 'List the monthly payments of an account, by billing provider',
      isLong: true,
      allow: accountMember,
      answers: list(Subscription),
      run: async ({ account }) => {
        const invoices = await services.invoices(account)
        const details = 'the account has no services'
        if (invoices.length === 0) throw failure(badIdentifier, { cause: 'subscriptions', details })
        return subscriptionsOf(invoices, (await services.find(account))?.created ?? 0, clock.now())
      },
    }),
    get(`${base}/{transaction_id}`, {
      summary: 'Read a transaction',
      record: { kind: 'transaction' },
      allow: accountMember,
      answers: TransactionRecord,
      run: async ({ path }) =>
        answer({ data: transactionJson(await transactions.get(path.account_id, path.transaction_id)) }),
    }),
    put(`${base}/sale`, {
      summary: 'Charge an account through its billing provider',
      ...moving,
      run: async (call) => movedAnswer(await manual.sale(call.author, call.account, call.data, mayAct(call))),
    }),
    put(`${base}/refund`, {
      summary: 'Refund a payment through the billing provider of an account',
      ...moving,
      run: async (call) =>
        movedAnswer(await manual.refund(call.author, call.account, call.data, mayAct(call))),
    }),
    put(`${base}/{transaction_id}`, {
      summary: 'Refused with 403: create a sale or a refund instead',
      allow: accountMember,
      answers: anyObject(),
      run: () => {
        throw failure(forbidden, {
          cause: 'use PUT transactions/sale or transactions/refund',
        })
      },
    }),
  ]
}

const billJson = ({ month, bookkeeper, created, amount, doc }: Bill) => ({
  id: doc.ledger_id,
  amount: dollarsOfUnits(amount),
  type: 'debit',
  reason: 'recurring',
  description: `Services of ${month}`,
  bookkeeper: bookkeeperOfKey(bookkeeper),
  ...(doc.transaction_id === undefined ? {} : { transaction_id: doc.transaction_id }),
  created,
})

/** One for each bookkeeper. Times in Gregorian seconds. */
const subscriptionsOf = (invoices: readonly Invoice[], firstGregorian: number, nowUnixMs: number) => {
  const { next } = billingCycle(nowUnixMs)
  return invoices.map(({ bookkeeper, total, taxes, items }) => ({
    id: bookkeeper.id,
    bookkeeper,
    // With added taxes: the amount that is paid.
    price: dollarsOfUnits(total),
    taxes: taxes.map(taxLineJson),
    billing_first_date: firstGregorian,
    billing_start_date: gregorianOfMonth(monthNumber(nowUnixMs)),
    billing_end_date: next - 1,
    next_bill_date: next,
    add_ons: items.map((item) => {
      const { name, quantity, rate, total } = itemJson(item)
      return { id: name, quantity, amount: rate, total }
    }),
  }))
}
