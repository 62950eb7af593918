import type { Upgrade } from '../upgrades.ts'

/** Records, the names they hold, the account tree, and the feed of changes. */
export const records: Upgrade = {
  number: 1,
  title: 'records, claims, account tree, audit log and outbox',
  statements: ({ key, compact }) => [
    `CREATE TABLE records (
      account_id ${key} NOT NULL,
      kind ${key} NOT NULL,
      id ${key} NOT NULL,
      owner_id ${key} NOT NULL,
      sort_key ${key} NOT NULL,
      created BIGINT NOT NULL,
      modified BIGINT NOT NULL,
      revision ${key} NOT NULL,
      doc TEXT NOT NULL,
      hidden TEXT NOT NULL,
      row_json TEXT NOT NULL,
      tally BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, kind, id)
    )`,
    'CREATE INDEX records_sorted ON records (account_id, kind, sort_key, id)',
    "CREATE INDEX records_owned ON records (account_id, kind, owner_id, sort_key, id) WHERE owner_id <> ''",
    `CREATE TABLE claims (
      account_id ${key} NOT NULL,
      name ${key} NOT NULL,
      value ${key} NOT NULL,
      holder_account_id ${key} NOT NULL,
      kind ${key} NOT NULL,
      record_id ${key} NOT NULL,
      PRIMARY KEY (account_id, name, value)
    ) ${compact}`,
    'CREATE INDEX claims_held ON claims (holder_account_id, kind, record_id)',
    // One row for each pair of an account and one of its ancestors: lists of children and descendants are index reads.
    `CREATE TABLE account_tree (
      account_id ${key} NOT NULL,
      ancestor_id ${key} NOT NULL,
      distance INTEGER NOT NULL,
      sort_key ${key} NOT NULL,
      PRIMARY KEY (account_id, ancestor_id)
    ) ${compact}`,
    'CREATE INDEX account_tree_children ON account_tree (ancestor_id, distance, sort_key, account_id)',
    'CREATE INDEX account_tree_descendants ON account_tree (ancestor_id, sort_key, account_id)',
    `CREATE TABLE audit_log (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      action ${key} NOT NULL,
      kind ${key} NOT NULL,
      record_id ${key} NOT NULL,
      author TEXT NOT NULL,
      before_doc TEXT,
      after_doc TEXT,
      PRIMARY KEY (account_id, id)
    )`,
    `CREATE TABLE outbox (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      event ${key} NOT NULL,
      kind ${key} NOT NULL,
      record_id ${key} NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
  ],
}
