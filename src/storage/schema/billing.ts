import type { SchemaWords } from './create.ts'

/** Quantities, ledgers, payments and invoices. Money in units, 10,000 to the dollar. */
export const billingSchema = ({ create, compact }: SchemaWords): string[] => [
  // Written with the change that moves a count, and added to the totals soon after, so that no row is
  // written by all.
  create('quantity_moves', 'account_id id', 'at:bigint category item own:bigint below:bigint', compact),
  create('quantities', 'account_id category item', 'own:bigint below:bigint', compact),
  // One row for each day on which a count changed.
  create(
    'quantity_days',
    'account_id category item day:integer',
    'addition:bigint removal:bigint own:bigint below:bigint last_at:bigint manual:bigint?',
    compact,
  ),
  'CREATE INDEX quantity_days_by_day ON quantity_days (account_id, day)',
  // A change that prices what an account has, and then writes, takes the next turn: of two that priced
  // the same, the second fails.
  create('payer_turns', 'account_id', 'turn:bigint', compact),
  // The price that each caller was shown last for a request that it has not accepted.
  create(
    'charge_quotes',
    'account_id caller request',
    'quote_id today:bigint monthly:bigint at:bigint',
    compact,
  ),
  'CREATE INDEX charge_quotes_times ON charge_quotes (at)',
  // What accounts were charged in a month, by category and item: removals refund no more than that.
  create('charged_items', 'account_id month:integer item', 'amount:bigint prices:text?', compact),
  // Changes of the invoices of accounts. `place` grows with time, and within a process with every row;
  // `made_at` in Unix milliseconds.
  create(
    'service_audit',
    'account_id id',
    "created:bigint status doc:text bookkeeper? sync_id? outcome:text? place='' made_at:bigint=0",
  ),
  "CREATE INDEX service_audit_pending ON service_audit (account_id, bookkeeper) WHERE status = 'pending'",
  'CREATE INDEX service_audit_times ON service_audit (account_id, created, place)',
  // Credits are positive, debits negative. `ordinal` is taken with the balance, so no two entries of an
  // account have the same; `made_at` in Unix milliseconds. Calls are most entries and are not in the
  // index by source.
  create(
    'ledger_entries',
    'account_id id',
    `created:bigint month:integer source_service source_id amount:bigint usage_type usage_quantity:bigint
      usage_unit for_account_id available_before:bigint doc:text ordinal:bigint=0 made_at:bigint=0`,
  ),
  'CREATE INDEX ledger_entries_times ON ledger_entries (account_id, source_service, created, ordinal)',
  "CREATE INDEX ledger_entries_requests ON ledger_entries (account_id, source_service, source_id) WHERE source_service = 'prorations' OR source_service = 'services' OR source_service = 'taxes'",
  // The legs of an entry: their amounts add up to 0.
  create('ledger_postings', 'account_id entry_id book', 'amount:bigint', compact),
  // The sum of all entries, and their number.
  create('ledger_balances', 'account_id', 'units:bigint month:integer entries:bigint=0', compact),
  'CREATE INDEX ledger_balances_months ON ledger_balances (month, account_id)',
  create(
    'ledger_months',
    'account_id month:integer source_service for_account_id',
    'amount:bigint usage_type usage_quantity:bigint usage_unit',
    compact,
  ),
  // Amounts are never negative: `type` contains the direction. `place` and `made_at` as in
  // service_audit.
  create(
    'transactions',
    'account_id id',
    `created:bigint type status amount:bigint refunded:bigint bookkeeper_type doc:text place=''
      made_at:bigint=0`,
  ),
  "CREATE INDEX transactions_open_sales ON transactions (account_id) WHERE status IN ('pending', 'unknown')",
  'CREATE INDEX transactions_times ON transactions (account_id, created, place)',
  // When accounts were topped up last, in Unix milliseconds.
  create('topups', 'account_id', 'last_at:bigint', compact),
  // When the last warning of a low balance was sent, in Unix milliseconds.
  create('balance_watch', 'account_id', 'mailed_at:bigint', compact),
  // One row for each bill: a bill is not made twice.
  create(
    'service_bills',
    'account_id month:integer bookkeeper',
    'created:bigint amount:bigint doc:text',
    compact,
  ),
  // How far the bills of a month are: one row.
  create('billing_progress', 'name', 'month:integer after_account is_done:integer', compact),
  // `month` is the one that is billed; `series` and `number_value` are unique for an issuer. An issued
  // invoice never changes: its status is in invoice_states.
  create(
    'invoices',
    'account_id id',
    'month:integer issuer_id series number_prefix number_value:bigint issued:bigint total:bigint doc:text',
  ),
  'CREATE UNIQUE INDEX invoices_numbers ON invoices (issuer_id, series, number_value)',
  'CREATE INDEX invoices_times ON invoices (account_id, issued, id)',
  // `attempt`: the transaction that pays it; empty if there is none.
  create('invoice_states', 'account_id id', 'status credited:bigint attempt', compact),
  create('invoice_events', 'account_id invoice_id id', 'at:bigint event doc:text', compact),
  create(
    'credit_notes',
    'account_id invoice_id id',
    'issuer_id series number_prefix number_value:bigint issued:bigint total:bigint doc:text',
  ),
  'CREATE UNIQUE INDEX credit_notes_numbers ON credit_notes (issuer_id, series, number_value)',
  // The last number of each series: taken in the transaction that uses it, so that there are no gaps.
  create('invoice_numbers', 'issuer_id series', 'last:bigint', compact),
  // The document that contains a ledger entry. Entries of usage are too many: their sums are in
  // invoice_usage.
  create('invoice_entries', 'account_id entry_id', 'document_id', compact),
  create(
    'invoice_usage',
    'account_id month:integer source_service for_account_id document_id',
    'amount:bigint quantity:bigint',
    compact,
  ),
  // Events of payment gateways: each is processed once.
  create('payment_events', 'vendor_id id', 'at:bigint', compact),
  'CREATE INDEX payment_events_times ON payment_events (at)',
  // Charges that their payers dispute: `open`, `won` or `lost`.
  create('payment_disputes', 'vendor_id id', 'account_id state', compact),
]
