import { gregorianUnixOffset } from '../../lib/gregorian.ts'
import type { Upgrade } from '../upgrades.ts'

const madeAtTheSecond = (table: string) =>
  `UPDATE ${table} SET made_at = (created - ${gregorianUnixOffset}) * 1000`

/** The order in which money moved and invoices changed, within a second too, and when that was. */
export const orderOfMoney: Upgrade = {
  number: 17,
  title: 'order of ledger entries, transactions and service audit',
  statements: ({ key }) => [
    // How many entries an account has: the place of the next one. Taken with the balance, so no two share one.
    'ALTER TABLE ledger_balances ADD COLUMN entries BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE ledger_entries ADD COLUMN ordinal BIGINT NOT NULL DEFAULT 0',
    // Unix milliseconds. Of what was there before, no more than the second is known.
    'ALTER TABLE ledger_entries ADD COLUMN made_at BIGINT NOT NULL DEFAULT 0',
    madeAtTheSecond('ledger_entries'),
    `UPDATE ledger_entries SET ordinal = placed.ordinal FROM (
        SELECT account_id, id, row_number() OVER (
            PARTITION BY account_id ORDER BY created, source_service <> 'rollovers', id) AS ordinal
          FROM ledger_entries) AS placed
      WHERE ledger_entries.account_id = placed.account_id AND ledger_entries.id = placed.id`,
    `UPDATE ledger_balances SET entries =
      (SELECT count(*) FROM ledger_entries WHERE ledger_entries.account_id = ledger_balances.account_id)`,
    'DROP INDEX ledger_entries_times',
    'CREATE INDEX ledger_entries_times ON ledger_entries (account_id, source_service, created, ordinal)',
    // What an account will have once its open sales are booked.
    "CREATE INDEX transactions_open_sales ON transactions (account_id) WHERE status IN ('pending', 'unknown')",
    ...['transactions', 'service_audit'].flatMap((table) => [
      // Grows with time, and within a process with every row. What was there before comes first, in its order.
      `ALTER TABLE ${table} ADD COLUMN place ${key} NOT NULL DEFAULT ''`,
      `ALTER TABLE ${table} ADD COLUMN made_at BIGINT NOT NULL DEFAULT 0`,
      madeAtTheSecond(table),
      `UPDATE ${table} SET place = '-' || id`,
      `DROP INDEX ${table}_times`,
      `CREATE INDEX ${table}_times ON ${table} (account_id, created, place)`,
    ]),
  ],
}
