import type { Upgrade } from '../upgrades.ts'

/** How many items of each category accounts have, and have below them: what services are priced of. */
export const quantities: Upgrade = {
  number: 9,
  title: 'quantities of accounts and of those below them',
  statements: ({ key, compact }) => [
    // Written with the change that moves a count, and folded into the totals soon after: no row is written by all.
    `CREATE TABLE quantity_moves (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      category ${key} NOT NULL,
      item ${key} NOT NULL,
      own BIGINT NOT NULL,
      below BIGINT NOT NULL,
      author TEXT NOT NULL,
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
    // One row for each day on which a count moved.
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
      PRIMARY KEY (account_id, category, item, day)
    ) ${compact}`,
    // Whoever folds, or moves counts between accounts, touches this row first: they take turns.
    "INSERT INTO rounds (name, done_at) VALUES ('quantities', 0)",
  ],
}
