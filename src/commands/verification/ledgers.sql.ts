import { rolloverService } from '../../areas/billing/ledgers/rules.ts'
import type { Check, Fault } from '../../lib/check.ts'
import type { Row } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'

// Each check is one statement, so it sees concurrent bookings completely or not at all.

const accountsPerCheck = 200

const someAccounts = `SELECT account_id FROM ledger_balances WHERE account_id > $1 ORDER BY account_id LIMIT ${accountsPerCheck}`

const inRange = (alias: string) => `${alias}.account_id > $1 AND ${alias}.account_id <= $2`

const amountSumSql = (from: string) => `COALESCE((SELECT CAST(sum(amount) AS BIGINT) FROM ${from}), 0)`

interface LedgerCheck {
  sql: string
  fault(row: Row): Fault
}

const ledgerOf = ({ account_id }: Row) => `ledger of account ${account_id}`

// Rollovers move nothing.
const balances: LedgerCheck = {
  sql: `SELECT account_id, units, total FROM (
      SELECT b.account_id, b.units, ${amountSumSql(`ledger_entries e WHERE e.account_id = b.account_id
        AND e.source_service <> '${rolloverService}'`)} AS total
      FROM ledger_balances b WHERE ${inRange('b')}
    ) AS compared WHERE units <> total ORDER BY account_id`,
  fault: (row) => ({
    place: ledgerOf(row),
    reason: `the balance is ${row.units} units, the sum of its entries is ${row.total}`,
  }),
}

const legs: LedgerCheck = {
  sql: `SELECT account_id, id FROM (
      SELECT e.account_id, e.id, e.amount,
        ${amountSumSql('ledger_postings p WHERE p.account_id = e.account_id AND p.entry_id = e.id')} AS rest,
        (SELECT p.amount FROM ledger_postings p
          WHERE p.account_id = e.account_id AND p.entry_id = e.id AND p.book = 'account') AS own
      FROM ledger_entries e WHERE ${inRange('e')}
    ) AS compared WHERE rest <> 0 OR own IS NULL OR own <> amount ORDER BY account_id, id`,
  fault: (row) => ({
    place: `${ledgerOf(row)}, entry ${row.id}`,
    reason: 'its postings do not add up to zero or differ from its amount',
  }),
}

const months: LedgerCheck = {
  sql: `SELECT account_id, month, source_service, amount, total FROM (
      SELECT m.account_id, m.month, m.source_service, m.amount,
        ${amountSumSql(`ledger_entries e WHERE e.account_id = m.account_id AND e.month = m.month
          AND e.source_service = m.source_service AND e.for_account_id = m.for_account_id`)} AS total
      FROM ledger_months m WHERE ${inRange('m')}
    ) AS compared WHERE amount <> total ORDER BY account_id, month, source_service`,
  fault: (row) => ({
    place: `${ledgerOf(row)}, month ${row.month}, ${row.source_service}`,
    reason: `the sum is ${row.amount} units, the sum of its entries is ${row.total}`,
  }),
}

const unbalanced = `SELECT DISTINCT e.account_id FROM ledger_entries e
  WHERE NOT EXISTS (SELECT 1 FROM ledger_balances b WHERE b.account_id = e.account_id) ORDER BY e.account_id`

/** Balances, postings and sums of months must match their entries. */
export const checkLedgers = ({ scan }: Pick<Store, 'scan'>): Check => ({
  name: 'ledgers',
  async run(tell) {
    for (const row of await scan(unbalanced))
      tell({ place: ledgerOf(row), reason: 'it has entries but no balance' })
    let seen = 0
    let after = ''
    for (;;) {
      const accounts = await scan(someAccounts, [after])
      const last = accounts.at(-1)?.account_id
      if (last === undefined || last === null) return seen
      for (const { sql, fault } of [balances, legs, months])
        for (const row of await scan(sql, [after, last])) tell(fault(row))
      seen += accounts.length
      after = String(last)
    }
  },
})
