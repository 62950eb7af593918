import type { Upgrade } from '../upgrades.ts'

/** Months become documents. What was issued is never changed: its status, and what happened to it, stand beside it. */
export const invoices: Upgrade = {
  number: 20,
  title: 'invoices and credit notes',
  statements: ({ key, compact }) => [
    // Money in units. `month` is the one that is billed, `series` and `number_value` are unique for an issuer.
    `CREATE TABLE invoices (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      month INTEGER NOT NULL,
      issuer_id ${key} NOT NULL,
      series ${key} NOT NULL,
      number_prefix ${key} NOT NULL,
      number_value BIGINT NOT NULL,
      issued BIGINT NOT NULL,
      total BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE UNIQUE INDEX invoices_numbers ON invoices (issuer_id, series, number_value)',
    'CREATE INDEX invoices_times ON invoices (account_id, issued, id)',
    // `attempt`: the transaction that is to pay it, or was; empty when there was none.
    `CREATE TABLE invoice_states (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      status ${key} NOT NULL,
      credited BIGINT NOT NULL,
      attempt ${key} NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
    `CREATE TABLE invoice_events (
      account_id ${key} NOT NULL,
      invoice_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      event ${key} NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, invoice_id, id)
    ) ${compact}`,
    `CREATE TABLE credit_notes (
      account_id ${key} NOT NULL,
      invoice_id ${key} NOT NULL,
      id ${key} NOT NULL,
      issuer_id ${key} NOT NULL,
      series ${key} NOT NULL,
      number_prefix ${key} NOT NULL,
      number_value BIGINT NOT NULL,
      issued BIGINT NOT NULL,
      total BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, invoice_id, id)
    )`,
    'CREATE UNIQUE INDEX credit_notes_numbers ON credit_notes (issuer_id, series, number_value)',
    // The last number of each series: taken in the transaction that uses it, so that none is ever left out.
    `CREATE TABLE invoice_numbers (
      issuer_id ${key} NOT NULL,
      series ${key} NOT NULL,
      last BIGINT NOT NULL,
      PRIMARY KEY (issuer_id, series)
    ) ${compact}`,
    // Which document a ledger entry is in. Entries of usage are too many: of them sums are kept.
    `CREATE TABLE invoice_entries (
      account_id ${key} NOT NULL,
      entry_id ${key} NOT NULL,
      document_id ${key} NOT NULL,
      PRIMARY KEY (account_id, entry_id)
    ) ${compact}`,
    `CREATE TABLE invoice_usage (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      source_service ${key} NOT NULL,
      for_account_id ${key} NOT NULL,
      document_id ${key} NOT NULL,
      amount BIGINT NOT NULL,
      quantity BIGINT NOT NULL,
      PRIMARY KEY (account_id, month, source_service, for_account_id, document_id)
    ) ${compact}`,
    // What was booked before there were invoices is in none.
    `INSERT INTO invoice_entries (account_id, entry_id, document_id)
      SELECT account_id, id, '' FROM ledger_entries WHERE source_service IN ('services', 'prorations', 'taxes')`,
    `INSERT INTO invoice_usage (account_id, month, source_service, for_account_id, document_id, amount, quantity)
      SELECT account_id, month, source_service, for_account_id, '', amount, usage_quantity
        FROM ledger_months WHERE source_service = 'per-minute-voip'`,
    // What accounts were charged in a month, by category and item: removals give back no more.
    `CREATE TABLE charged_items (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      item ${key} NOT NULL,
      amount BIGINT NOT NULL,
      PRIMARY KEY (account_id, month, item)
    ) ${compact}`,
    // Events that payment gateways sent: each is taken in once.
    `CREATE TABLE payment_events (
      vendor_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (vendor_id, id)
    ) ${compact}`,
    'CREATE INDEX payment_events_times ON payment_events (at)',
    // Charges that their payers want back: `open`, `won` or `lost`.
    `CREATE TABLE payment_disputes (
      vendor_id ${key} NOT NULL,
      id ${key} NOT NULL,
      account_id ${key} NOT NULL,
      state ${key} NOT NULL,
      PRIMARY KEY (vendor_id, id)
    ) ${compact}`,
  ],
}
