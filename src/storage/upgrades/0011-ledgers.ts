import type { Upgrade } from '../upgrades.ts'

/** What accounts owe and own, by double entry. Entries and postings are only ever added. */
export const ledgers: Upgrade = {
  number: 11,
  title: 'ledgers',
  statements: ({ key, compact }) => [
    // Money in units, 10,000 to the dollar; credits are positive, debits negative.
    `CREATE TABLE ledger_entries (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      created BIGINT NOT NULL,
      month INTEGER NOT NULL,
      source_service ${key} NOT NULL,
      source_id ${key} NOT NULL,
      amount BIGINT NOT NULL,
      usage_type ${key} NOT NULL,
      usage_quantity BIGINT NOT NULL,
      usage_unit ${key} NOT NULL,
      for_account_id ${key} NOT NULL,
      available_before BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX ledger_entries_times ON ledger_entries (account_id, source_service, created, id)',
    // The legs of an entry: what its account has, and where that came from or went. They add up to nothing.
    `CREATE TABLE ledger_postings (
      account_id ${key} NOT NULL,
      entry_id ${key} NOT NULL,
      book ${key} NOT NULL,
      amount BIGINT NOT NULL,
      PRIMARY KEY (account_id, entry_id, book)
    ) ${compact}`,
    // What is left of all entries: no balance depends on reading them.
    `CREATE TABLE ledger_balances (
      account_id ${key} NOT NULL PRIMARY KEY,
      units BIGINT NOT NULL,
      month INTEGER NOT NULL
    ) ${compact}`,
    'CREATE INDEX ledger_balances_months ON ledger_balances (month, account_id)',
    `CREATE TABLE ledger_months (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      source_service ${key} NOT NULL,
      for_account_id ${key} NOT NULL,
      amount BIGINT NOT NULL,
      usage_type ${key} NOT NULL,
      usage_quantity BIGINT NOT NULL,
      usage_unit ${key} NOT NULL,
      PRIMARY KEY (account_id, month, source_service, for_account_id)
    ) ${compact}`,
  ],
}
