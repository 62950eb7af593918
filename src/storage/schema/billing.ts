import type { Dialect } from '../sql-words.ts'

/** Quantities, ledgers, payments and invoices. Money in units, 10,000 to the dollar. */
export const billingSchema = ({ key, compact }: Dialect): string[] => [
  // Written with the change that moves a count, and added to the totals soon after, so that no row is
  // written by all.
  `CREATE TABLE quantity_moves (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      category ${key} NOT NULL,
      item ${key} NOT NULL,
      own BIGINT NOT NULL,
      below BIGINT NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
  `CREATE TABLE quantities (
      account_id ${key} NOT NULL,
      category ${key} NOT NULL,
      item ${key} NOT NULL,
      own BIGINT NOT NULL,
      below BIGINT NOT NULL,
      PRIMARY KEY (account_id, category, item)
    ) ${compact}`,
  // One row for each day on which a count changed.
  `CREATE TABLE quantity_days (
      account_id ${key} NOT NULL,
      category ${key} NOT NULL,
      item ${key} NOT NULL,
      day INTEGER NOT NULL,
      addition BIGINT NOT NULL,
      removal BIGINT NOT NULL,
      own BIGINT NOT NULL,
      below BIGINT NOT NULL,
      last_at BIGINT NOT NULL,
      manual BIGINT,
      PRIMARY KEY (account_id, category, item, day)
    ) ${compact}`,
  'CREATE INDEX quantity_days_by_day ON quantity_days (account_id, day)',
  // A change that prices what an account has, and then writes, takes the next turn: of two that priced
  // the same, the second fails.
  `CREATE TABLE payer_turns (
      account_id ${key} NOT NULL PRIMARY KEY,
      turn BIGINT NOT NULL
    ) ${compact}`,
  // The price that each caller was shown last for a request that it has not accepted.
  `CREATE TABLE charge_quotes (
      account_id ${key} NOT NULL,
      caller ${key} NOT NULL,
      request ${key} NOT NULL,
      quote_id ${key} NOT NULL,
      today BIGINT NOT NULL,
      monthly BIGINT NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (account_id, caller, request)
    ) ${compact}`,
  'CREATE INDEX charge_quotes_times ON charge_quotes (at)',
  // The charges of accounts in a month, by category and item: removals refund no more than that.
  `CREATE TABLE charged_items (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      item ${key} NOT NULL,
      amount BIGINT NOT NULL,
      prices TEXT,
      PRIMARY KEY (account_id, month, item)
    ) ${compact}`,
  // Changes of the invoices of accounts. `place` grows with time, and within a process with every row;
  // `made_at` in Unix milliseconds.
  `CREATE TABLE service_audit (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      created BIGINT NOT NULL,
      status ${key} NOT NULL,
      doc TEXT NOT NULL,
      bookkeeper ${key},
      sync_id ${key},
      outcome TEXT,
      place ${key} NOT NULL DEFAULT '',
      made_at BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, id)
    )`,
  "CREATE INDEX service_audit_pending ON service_audit (account_id, bookkeeper) WHERE status = 'pending'",
  'CREATE INDEX service_audit_times ON service_audit (account_id, created, place)',
  // Credits are positive, debits negative. `ordinal` is taken with the balance, so no two entries of an
  // account have the same; `made_at` in Unix milliseconds. Calls are most entries and are not in the
  // index by source.
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
      ordinal BIGINT NOT NULL DEFAULT 0,
      made_at BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, id)
    )`,
  'CREATE INDEX ledger_entries_times ON ledger_entries (account_id, source_service, created, ordinal)',
  "CREATE INDEX ledger_entries_requests ON ledger_entries (account_id, source_service, source_id) WHERE source_service = 'prorations' OR source_service = 'services' OR source_service = 'taxes'",
  // The legs of an entry: their amounts add up to 0.
  `CREATE TABLE ledger_postings (
      account_id ${key} NOT NULL,
      entry_id ${key} NOT NULL,
      book ${key} NOT NULL,
      amount BIGINT NOT NULL,
      PRIMARY KEY (account_id, entry_id, book)
    ) ${compact}`,
  // The sum of all entries, and their number.
  `CREATE TABLE ledger_balances (
      account_id ${key} NOT NULL PRIMARY KEY,
      units BIGINT NOT NULL,
      month INTEGER NOT NULL,
      entries BIGINT NOT NULL DEFAULT 0
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
  // Amounts are never negative: `type` contains the direction. `place` and `made_at` as in
  // service_audit.
  `CREATE TABLE transactions (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      created BIGINT NOT NULL,
      type ${key} NOT NULL,
      status ${key} NOT NULL,
      amount BIGINT NOT NULL,
      refunded BIGINT NOT NULL,
      bookkeeper_type ${key} NOT NULL,
      doc TEXT NOT NULL,
      place ${key} NOT NULL DEFAULT '',
      made_at BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, id)
    )`,
  "CREATE INDEX transactions_open_sales ON transactions (account_id) WHERE status IN ('pending', 'unknown')",
  'CREATE INDEX transactions_times ON transactions (account_id, created, place)',
  // When accounts were topped up last, in Unix milliseconds.
  `CREATE TABLE topups (
      account_id ${key} NOT NULL PRIMARY KEY,
      last_at BIGINT NOT NULL
    ) ${compact}`,
  // When the last warning of a low balance was sent, in Unix milliseconds.
  `CREATE TABLE balance_watch (
      account_id ${key} NOT NULL PRIMARY KEY,
      mailed_at BIGINT NOT NULL
    ) ${compact}`,
  // One row for each bill: a bill is not made twice.
  `CREATE TABLE service_bills (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      bookkeeper ${key} NOT NULL,
      created BIGINT NOT NULL,
      amount BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, month, bookkeeper)
    ) ${compact}`,
  // Progress of the bills of a month: one row.
  `CREATE TABLE billing_progress (
      name ${key} NOT NULL PRIMARY KEY,
      month INTEGER NOT NULL,
      after_account ${key} NOT NULL,
      is_done INTEGER NOT NULL
    ) ${compact}`,
  // `month` is the one that is billed; `series` and `number_value` are unique for an issuer. An issued
  // invoice never changes: its status is in invoice_states.
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
  // `attempt`: the transaction that pays it; empty if there is none.
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
  // The last number of each series: taken in the transaction that uses it, so that there are no gaps.
  `CREATE TABLE invoice_numbers (
      issuer_id ${key} NOT NULL,
      series ${key} NOT NULL,
      last BIGINT NOT NULL,
      PRIMARY KEY (issuer_id, series)
    ) ${compact}`,
  // The document that contains a ledger entry. Entries of usage are too many: their sums are in
  // invoice_usage.
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
  // Events of payment gateways: each is processed once.
  `CREATE TABLE payment_events (
      vendor_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (vendor_id, id)
    ) ${compact}`,
  'CREATE INDEX payment_events_times ON payment_events (at)',
  // Charges that their payers dispute: `open`, `won` or `lost`.
  `CREATE TABLE payment_disputes (
      vendor_id ${key} NOT NULL,
      id ${key} NOT NULL,
      account_id ${key} NOT NULL,
      state ${key} NOT NULL,
      PRIMARY KEY (vendor_id, id)
    ) ${compact}`,
]
