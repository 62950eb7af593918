import { badIdentifier, failure } from '../../../../lib/failure.ts'
import { unixOfGregorian } from '../../../../lib/gregorian.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, json, oneOf, shape, table, text } from '../../../../storage/table.ts'
import { readTimePage, type TimePage } from '../../../../storage/time-page.ts'
import { type ImportedRecord, type Importer, importingRows } from '../../../adoption.ts'
import type { DepsOf } from '../../../area.ts'
import { servicesSettings } from '../../services/settings.ts'
import type { Transaction, TransactionDoc, TransactionResult, TransactionType } from './rules.ts'

const columns = {
  accountId: text(),
  id: text(),
  created: integer(),
  place: text(),
  madeAt: integer(),
  type: oneOf(['sale', 'refund']),
  status: oneOf(['pending', 'unknown', 'completed', 'failed']),
  amount: integer(),
  refunded: integer(),
  doc: json<TransactionDoc>(),
} as const
const shownTransactions = shape(columns)
const transactions = table('transactions', { ...columns, bookkeeperType: text() })
const insertTransaction = transactions.insert()
// `refunded` stays: refunds of an imported sale may have been made here.
const insertImported =
  transactions.insert(`ON CONFLICT (account_id, id) DO UPDATE SET created = excluded.created,
  place = excluded.place, made_at = excluded.made_at, type = excluded.type, status = excluded.status,
  amount = excluded.amount, bookkeeper_type = excluded.bookkeeper_type, doc = excluded.doc`)

const transactionRowOf = (transaction: Transaction) => ({
  ...transaction,
  refunded: 0,
  bookkeeperType: transaction.doc.bookkeeper.type,
})

export type TransactionStore = ReturnType<typeof createTransactionStore>

export const createTransactionStore = ({ all, scan }: Store) => ({
  insert(set: ChangeSet, transaction: Transaction) {
    const { accountId, id, doc } = transaction
    set
      .keepText('transaction', JSON.stringify(doc))
      .add(insertTransaction(transactionRowOf(transaction)))
      .record({ accountId, kind: 'transaction', id, action: 'created' })
  },

  /**
   * Comes first in the change set that books an outcome: only one of several succeeds. A given-up transaction may end
   * otherwise, once.
   */
  takeTurn: (set: ChangeSet, { accountId, id, status }: Transaction) =>
    set.run(
      `UPDATE transactions SET status = status
        WHERE account_id = $1 AND id = $2 AND status IN ('pending', 'unknown', $3)`,
      [accountId, id, status === 'failed' ? 'failed' : 'pending'],
      { rows: 1, orElse: conflict },
    ),

  settle: (
    set: ChangeSet,
    { accountId, id }: Transaction,
    { status, doc }: Pick<Transaction, 'status' | 'doc'>,
  ) =>
    set
      .run('UPDATE transactions SET status = $3, doc = $4 WHERE account_id = $1 AND id = $2', [
        accountId,
        id,
        status,
        JSON.stringify(doc),
      ])
      .record({ accountId, kind: 'transaction', id, action: 'edited' }),

  /** Reserves part of a sale for a refund: never more than was taken. */
  reserve: (set: ChangeSet, { accountId, id }: Transaction, amount: number) =>
    set.run(
      `UPDATE transactions SET refunded = refunded + $3
        WHERE account_id = $1 AND id = $2 AND status = 'completed' AND refunded + $3 <= amount`,
      [accountId, id, amount],
      { rows: 1, orElse: conflict },
    ),

  /** Releases the reservation of a failed refund. */
  unreserve: (set: ChangeSet, accountId: string, saleId: string, amount: number) =>
    set.run('UPDATE transactions SET refunded = refunded - $3 WHERE account_id = $1 AND id = $2', [
      accountId,
      saleId,
      amount,
    ]),

  /** Stores an imported transaction and replaces an earlier import. */
  import: (set: ChangeSet, transaction: Transaction) =>
    set.add(insertImported(transactionRowOf(transaction))).record({
      accountId: transaction.accountId,
      kind: 'transaction',
      id: transaction.id,
      action: 'created',
    }),

  remove: (set: ChangeSet, accountId: string, id: string) =>
    set
      .run('DELETE FROM transactions WHERE account_id = $1 AND id = $2', [accountId, id])
      .record({ accountId, kind: 'transaction', id, action: 'deleted' }),

  async find(accountId: string, id: string): Promise<Transaction | undefined> {
    const sql = `SELECT ${shownTransactions.columns} FROM transactions WHERE account_id = $1 AND id = $2`
    return shownTransactions.first(await all(sql, [accountId, id]))
  },

  async get(accountId: string, id: string): Promise<Transaction> {
    const transaction = await this.find(accountId, id)
    if (!transaction) throw failure(badIdentifier, { cause: id })
    return transaction
  },

  /** The newest sale of a type of billing provider with at least this amount left. */
  async refundable(accountId: string, bookkeeperType: string, amount: number) {
    const rows = await scan(
      `SELECT ${shownTransactions.columns} FROM transactions
        WHERE account_id = $1 AND type = 'sale' AND status = 'completed' AND bookkeeper_type = $2
          AND amount - refunded >= $3
        ORDER BY created DESC, place DESC LIMIT 1`,
      [accountId, bookkeeperType, amount],
    )
    return shownTransactions.first(rows)
  },

  async page(page: TimePage): Promise<Transaction[]> {
    const select = `SELECT ${shownTransactions.columns} FROM transactions`
    return shownTransactions.list(await readTimePage({ all, scan }, { select, mark: 'place' }, page))
  },
})

/** When accounts were last topped up automatically. Unix milliseconds. */
export const createTopupStore = ({ all }: Store) => ({
  /** 0: never. */
  async lastAt(accountId: string): Promise<number> {
    const [row] = await all('SELECT last_at FROM topups WHERE account_id = $1', [accountId])
    return (row?.last_at as number | undefined) ?? 0
  },

  /** If several top-ups run concurrently, one succeeds. */
  claim: (set: ChangeSet, accountId: string, before: number, now: number) =>
    set.run(
      `INSERT INTO topups (account_id, last_at) VALUES ($1, $3)
        ON CONFLICT (account_id) DO UPDATE SET last_at = excluded.last_at WHERE topups.last_at = $2`,
      [accountId, before, now],
      { rows: 1, orElse: conflict },
    ),
})

/** The outcome in another system. */
interface ArrivingFacts {
  type: TransactionType
  status: 'completed' | 'failed'
  /** Units, never negative. */
  amount: number
  result: TransactionResult
}

const transactionOf = (
  { accountId, id, created, doc, facts }: ImportedRecord,
  currency: string,
): Transaction => {
  const { type, status, amount, result } = facts as unknown as ArrivingFacts
  const said = doc as unknown as Omit<TransactionDoc, 'currency' | 'result'>
  return {
    ...{ accountId, id, created, type, status, amount },
    place: `-${id}`,
    madeAt: unixOfGregorian(created) * 1000,
    refunded: 0,
    doc: { ...said, currency, result },
  }
}

/** `refunded` stays as it is here. */
const isSameTransaction = (before: Transaction, after: Transaction) => {
  const inOrder = ({ doc, refunded: _, ...rest }: Transaction) =>
    JSON.stringify([Object.entries(rest).toSorted(), doc])
  return inOrder(before) === inOrder(after)
}

/** Imports transactions of another system. No bookkeeper is called, and no balance moves. */
export const createTransactionImporter = ({ store, settings }: DepsOf<'store' | 'settings'>): Importer => {
  const rows = createTransactionStore(store)
  return importingRows<Transaction>({
    rowOf: async (arrival) => transactionOf(arrival, (await settings.of(servicesSettings)).currency),
    find: rows.find,
    isSame: isSameTransaction,
    put: (set, _accountId, transaction) => rows.import(set, transaction),
    remove: (set, accountId, { id }) => rows.remove(set, accountId, id),
  })
}
