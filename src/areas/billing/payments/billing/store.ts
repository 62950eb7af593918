import { failure } from '../../../../lib/failure.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { flag, integer, json, type RowOf, table, text } from '../../../../storage/table.ts'
import { bookedAlready } from '../../ledgers/failures.ts'
import { olderService } from '../../ledgers/rules.ts'
import { itemisedSources, usageSource } from '../invoices/rules.ts'

interface BillDoc {
  ledger_id: string
  transaction_id?: string
  invoice: object
}

const bills = table('service_bills', {
  accountId: text(),
  month: integer(),
  bookkeeper: text(),
  /** Gregorian seconds. */
  created: integer(),
  /** Units. */
  amount: integer(),
  doc: json<BillDoc>(),
})
const insertBill = bills.insert('ON CONFLICT DO NOTHING')

export type Bill = RowOf<typeof bills>

const progress = table('billing_progress', {
  name: text(),
  month: integer(),
  afterAccount: text(),
  isDone: flag(),
})
const putProgress = progress.upsert('name')

export type BillingProgress = Omit<RowOf<typeof progress>, 'name'>

const name = 'monthly'

const itemised = itemisedSources.map((source) => `'${source}'`).join(', ')

const coverEntries = `INSERT INTO invoice_entries (account_id, entry_id, document_id)
  SELECT account_id, id, '' FROM ledger_entries
    WHERE account_id > $1 AND account_id <= $2 AND source_service IN (${itemised})
  ON CONFLICT DO NOTHING`

const coverUsage = `INSERT INTO invoice_usage
    (account_id, month, source_service, for_account_id, document_id, amount, quantity)
  SELECT m.account_id, m.month, m.source_service, m.for_account_id, '',
      m.amount - CAST(coalesce(sum(u.amount), 0) AS BIGINT),
      m.usage_quantity - CAST(coalesce(sum(u.quantity), 0) AS BIGINT)
    FROM ledger_months m LEFT JOIN invoice_usage u ON u.account_id = m.account_id AND u.month = m.month
      AND u.source_service = m.source_service AND u.for_account_id = m.for_account_id AND u.document_id <> ''
    WHERE m.account_id > $1 AND m.account_id <= $2 AND m.source_service = '${usageSource}'
    GROUP BY m.account_id, m.month, m.source_service, m.for_account_id, m.amount, m.usage_quantity
  ON CONFLICT (account_id, month, source_service, for_account_id, document_id)
    DO UPDATE SET amount = excluded.amount, quantity = excluded.quantity`

const noteTopups = `INSERT INTO topups (account_id, last_at)
  SELECT account_id, max(made_at) FROM (
      SELECT account_id, made_at FROM ledger_entries
        WHERE account_id > $1 AND account_id <= $2 AND source_service IN ('payments', '${olderService}')
          AND amount > 0 AND made_at > $3
      UNION ALL
      SELECT account_id, made_at FROM transactions
        WHERE account_id > $1 AND account_id <= $2 AND type = 'sale' AND status = 'completed' AND made_at > $3
    ) AS paid WHERE true GROUP BY account_id
  ON CONFLICT (account_id) DO UPDATE SET
    last_at = CASE WHEN topups.last_at > excluded.last_at THEN topups.last_at ELSE excluded.last_at END`

export const createBillStore = ({ all, scan, writeUnrecorded }: Store) => ({
  /** There is one bill for each account, month and bookkeeper. */
  add: (set: ChangeSet, bill: Bill) =>
    set.add(insertBill(bill, { rows: 1, orElse: () => failure(bookedAlready, {}) })),

  /** The bookkeepers whose bills of a month are made, including bills of 0. */
  async billed(accountId: string, month: number): Promise<Set<string>> {
    const rows = await all('SELECT bookkeeper FROM service_bills WHERE account_id = $1 AND month = $2', [
      accountId,
      month,
    ])
    return new Set(rows.map((row) => row.bookkeeper as string))
  },

  /** Bills above 0 that were made in a time (Gregorian seconds), the newest first. */
  async of(accountId: string, from: number, to: number): Promise<Bill[]> {
    const rows = await all(
      `SELECT ${bills.columns} FROM service_bills
        WHERE account_id = $1 AND created BETWEEN $2 AND $3 AND amount > 0 ORDER BY month DESC, bookkeeper LIMIT 1000`,
      [accountId, from, to],
    )
    return bills.list(rows)
  },

  /** Accounts with services or money, ordered by id. */
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

  async progress(): Promise<BillingProgress | undefined> {
    const sql = `SELECT ${progress.columns} FROM billing_progress WHERE name = $1`
    return progress.first(await all(sql, [name]))
  },

  /**
   * Marks what accounts behind one, up to another, have booked as invoiced by another system, and their top-ups since
   * a time (Unix milliseconds) as theirs.
   */
  coverWithin: ({ after, last, topupsSince }: { after: string; last: string; topupsSince: number }) =>
    writeUnrecorded([
      { sql: coverEntries, params: [after, last] },
      { sql: coverUsage, params: [after, last] },
      { sql: noteTopups, params: [after, last, topupsSince] },
    ]),

  noteDone: (set: ChangeSet, month: number) =>
    set.add(putProgress({ name, month, afterAccount: '', isDone: true })),

  /** `guard` makes it fail if another process does the bills now. */
  note: (reached: BillingProgress, guard: Statement) =>
    writeUnrecorded([guard, putProgress({ name, ...reached })]),
})
