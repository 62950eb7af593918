import { failure } from '../../../lib/failure.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'

/** A bill that was made. */
export interface Bill {
  accountId: string
  month: number
  bookkeeper: string
  /** Gregorian seconds. */
  created: number
  /** Units. */
  amount: number
  doc: BillDoc
}

export interface BillDoc {
  ledger_id: string
  /** What was charged for it, where the bookkeeper charges. */
  transaction_id?: string
  /** As it stood. */
  invoice: object
}

/** How far the bills of a month are. */
export interface Progress {
  month: number
  afterAccount: string
  isDone: boolean
}

const name = 'monthly'

export const createBillStore = ({ all, scan, writeUnrecorded }: Store) => ({
  /** Of one account, month and bookkeeper there is one bill. */
  add(set: ChangeSet, { accountId, month, bookkeeper, created, amount, doc }: Bill) {
    set.run(
      `INSERT INTO service_bills (account_id, month, bookkeeper, created, amount, doc)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
      [accountId, month, bookkeeper, created, amount, JSON.stringify(doc)],
      { rows: 1, orElse: () => failure('booked_already', {}) },
    )
  },

  /** The bookkeepers whose bills of a month were made, those that came to nothing included. */
  async billed(accountId: string, month: number): Promise<Set<string>> {
    const rows = await all('SELECT bookkeeper FROM service_bills WHERE account_id = $1 AND month = $2', [
      accountId,
      month,
    ])
    return new Set(rows.map((row) => row.bookkeeper as string))
  },

  /** Bills of an account made from one time to another, the newest first. Those that came to nothing are none. */
  async of(accountId: string, from: number, to: number): Promise<Bill[]> {
    const rows = await all(
      `SELECT month, bookkeeper, created, amount, doc FROM service_bills
        WHERE account_id = $1 AND created BETWEEN $2 AND $3 AND amount > 0 ORDER BY month DESC, bookkeeper LIMIT 1000`,
      [accountId, from, to],
    )
    return rows.map((row) => ({
      accountId,
      month: row.month as number,
      bookkeeper: row.bookkeeper as string,
      created: row.created as number,
      amount: row.amount as number,
      doc: JSON.parse(row.doc as string) as BillDoc,
    }))
  },

  /** Accounts that ever had anything to do with services or money, in the order of their ids. */
  async accountsAfter(accountId: string, limit: number): Promise<string[]> {
    const rows = await scan(
      `SELECT account_id FROM (
          SELECT account_id FROM records WHERE kind = 'services' AND account_id > $1
          UNION SELECT account_id FROM ledger_balances WHERE account_id > $1) AS payers
        ORDER BY account_id LIMIT $2`,
      [accountId, limit],
    )
    return rows.map((row) => row.account_id as string)
  },

  async progress(): Promise<Progress | undefined> {
    const [row] = await all('SELECT month, after_account, is_done FROM billing_progress WHERE name = $1', [
      name,
    ])
    return (
      row && {
        month: row.month as number,
        afterAccount: row.after_account as string,
        isDone: row.is_done === 1,
      }
    )
  },

  /** `guard` lets it fail when another process does the bills now. */
  note: ({ month, afterAccount, isDone }: Progress, guard: Statement) =>
    writeUnrecorded([
      guard,
      {
        sql: `INSERT INTO billing_progress (name, month, after_account, is_done) VALUES ($1, $2, $3, $4)
          ON CONFLICT (name) DO UPDATE SET
            month = excluded.month, after_account = excluded.after_account, is_done = excluded.is_done`,
        params: [name, month, afterAccount, isDone ? 1 : 0],
      },
    ]),
})
