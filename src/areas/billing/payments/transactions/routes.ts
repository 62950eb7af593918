import { isSuperduper } from '../../../../auth/identity.ts'
import { accountMember, ancestorOnly } from '../../../../auth/policies.ts'
import { answer, ListResponse } from '../../../../http/answer/answers.ts'
import type { Listing } from '../../../../http/answer/listing.ts'
import { openTimeWindow } from '../../../../http/answer/time-window.ts'
import { type Call, get, put, type Route } from '../../../../http/route.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { badIdentifier, failure, forbidden } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import { anyObject, list } from '../../../../lib/schema.ts'
import type { TimeWindow } from '../../../../lib/time-bounds.ts'
import { timeKey } from '../../../../lib/time-key.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { CommittedChange } from '../../../../storage/idempotency.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Services } from '../../services/operations.ts'
import type { Billing } from '../billing/operations.ts'
import { moneyAnswer, moneyFailures } from './answers.ts'
import type { ManualOrder, ManualTransactions } from './manual.ts'
import { billJson, subscriptionsOf } from './older.ts'
import type { Transactions } from './operations.ts'
import { amountProblems, type Transaction, transactionJson, transactionRow } from './rules.ts'
import {
  Balance,
  RecurringRow,
  Subscription,
  TransactionRecord,
  TransactionRequest,
  TransactionRow,
} from './schema.ts'

const base = '/v2/accounts/{account_id}/transactions'

interface RouteDeps {
  transactions: Transactions
  manual: ManualTransactions
  billing: Billing
  ledgers: Ledgers
  services: Services
  settings: Settings
  clock: Clock
}

const windowQuery = {
  created_from: 'Gregorian seconds, however long ago; the usual range before created_to unless given',
  created_to: 'Gregorian seconds; now unless given',
}

type Moving = Call<typeof base, TransactionRequest>

const manualOrder = ({ data }: Moving): ManualOrder => {
  const { amount, description, metadata, order_id, transaction_id } = data
  return {
    amount: unitsOfDollars(amount as number),
    ...(description === undefined ? {} : { description }),
    ...(metadata ? { metadata } : {}),
    ...(order_id === undefined ? {} : { order_id }),
    ...(transaction_id === undefined ? {} : { saleId: transaction_id }),
  }
}

/** The vendor of a bookkeeper lets it move money, and the operator. */
const mayAct =
  ({ actor }: Pick<Call, 'actor'>) =>
  (vendorId: string) =>
    actor.accountId === vendorId || isSuperduper(actor)

export const transactionRoutes = (tools: RouteDeps): Route[] => {
  const { transactions, manual, billing, ledgers, services, settings, clock } = tools

  const windowOf = async ({ query }: Pick<Call, 'query'>): Promise<TimeWindow> => {
    const { maximum_range: range } = await settings.of(crossbarSettings)
    return openTimeWindow(query, gregorianNow(clock), range)
  }

  const listing = (accountId: string, window: TimeWindow): Listing<Transaction> => ({
    page: ({ after, limit, descending, long }) =>
      transactions.page({ accountId, ...window, ...(after ? { after } : {}), limit, descending, long }),
    cursor: ({ created, place }) => [timeKey(created), place],
    row: (transaction) => JSON.stringify(transactionRow(transaction)),
    record: transactionJson,
  })

  const again = async ({ path }: Pick<Moving, 'path'>, changes: readonly CommittedChange[]) => {
    const made = changes.find(({ kind }) => kind === 'transaction')
    return moneyAnswer(await transactions.cleared(path.account_id, made?.id ?? ''))
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
      summary: 'List the money that moved, or was to move, at bookkeepers',
      allow: accountMember,
      query: windowQuery,
      answers: TransactionRow,
      list: true,
      run: async (call) => new ListResponse(listing(call.account.id, await windowOf(call))),
    }),
    get(`${base}/current_balance`, {
      summary: 'Read what an account has',
      allow: accountMember,
      answers: Balance,
      run: async ({ account }) => ({ balance: dollarsOfUnits(await ledgers.balance(account.id)) }),
    }),
    get(`${base}/monthly_recurring`, {
      summary: 'List the monthly bills of an account, the newest first',
      isLong: true,
      allow: accountMember,
      query: windowQuery,
      answers: list(RecurringRow),
      run: async (call) => {
        const { from, to } = await windowOf(call)
        return (await billing.of(call.account.id, from, to)).map(billJson)
      },
    }),
    get(`${base}/subscriptions`, {
      summary: 'List what an account pays every month, by bookkeeper',
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
      summary: 'Take money from an account by its bookkeeper',
      ...moving,
      run: async (call) =>
        moneyAnswer(await manual.sale(call.author, call.account, manualOrder(call), mayAct(call))),
    }),
    put(`${base}/refund`, {
      summary: 'Give an account money back by its bookkeeper',
      ...moving,
      run: async (call) =>
        moneyAnswer(await manual.refund(call.author, call.account, manualOrder(call), mayAct(call))),
    }),
    put(`${base}/{transaction_id}`, {
      summary: 'Money moves by sale and refund only: always 403',
      allow: accountMember,
      answers: anyObject(),
      run: () => {
        throw failure(forbidden, {
          cause: 'money moves by PUT of transactions/sale and transactions/refund',
        })
      },
    }),
  ]
}
