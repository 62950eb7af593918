import type { Upgrade } from '../upgrades.ts'

/** Money that moves at bookkeepers outside, what they have to be told, and the monthly bills. */
export const transactions: Upgrade = {
  number: 14,
  title: 'transactions, top-ups, synchronisation and monthly bills',
  statements: ({ key, compact }) => [
    // Money in units, never negative: `type` says which way it goes.
    `CREATE TABLE transactions (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      created BIGINT NOT NULL,
      type ${key} NOT NULL,
      status ${key} NOT NULL,
      amount BIGINT NOT NULL,
      refunded BIGINT NOT NULL,
      bookkeeper_type ${key} NOT NULL,
      attempts INTEGER NOT NULL,
      due_at BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX transactions_times ON transactions (account_id, created, id)',
    "CREATE INDEX transactions_open ON transactions (due_at) WHERE status IN ('pending', 'unknown')",
    // Accounts whose balance has to be looked at (due_at > 0), and when they were topped up last. Unix milliseconds.
    `CREATE TABLE topups (
      account_id ${key} NOT NULL PRIMARY KEY,
      due_at BIGINT NOT NULL,
      marks BIGINT NOT NULL,
      last_at BIGINT NOT NULL
    ) ${compact}`,
    'CREATE INDEX topups_due ON topups (due_at) WHERE due_at > 0',
    // What bookkeepers outside do not know yet.
    `CREATE TABLE service_syncs (
      account_id ${key} NOT NULL,
      bookkeeper ${key} NOT NULL,
      due_at BIGINT NOT NULL,
      since BIGINT NOT NULL,
      attempts INTEGER NOT NULL,
      marks BIGINT NOT NULL,
      PRIMARY KEY (account_id, bookkeeper)
    ) ${compact}`,
    'CREATE INDEX service_syncs_due ON service_syncs (due_at)',
    `ALTER TABLE service_audit ADD COLUMN bookkeeper ${key}`,
    `ALTER TABLE service_audit ADD COLUMN sync_id ${key}`,
    'ALTER TABLE service_audit ADD COLUMN outcome TEXT',
    "CREATE INDEX service_audit_pending ON service_audit (account_id, bookkeeper) WHERE status = 'pending'",
    // One row for each bill that was made: whoever makes it again finds it.
    `CREATE TABLE service_bills (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      bookkeeper ${key} NOT NULL,
      created BIGINT NOT NULL,
      amount BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, month, bookkeeper)
    ) ${compact}`,
    // How far the bills of a month are: one row.
    `CREATE TABLE billing_progress (
      name ${key} NOT NULL PRIMARY KEY,
      month INTEGER NOT NULL,
      after_account ${key} NOT NULL,
      is_done INTEGER NOT NULL
    ) ${compact}`,
    "CREATE INDEX records_services ON records (account_id) WHERE kind = 'services'",
  ],
}
