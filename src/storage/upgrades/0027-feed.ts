import type { Upgrade } from '../upgrades.ts'

/**
 * Changes are read: each gets its place in the order of all, and the digest that chains an account's entries. What was
 * committed before gets its place after the upgrade, in the order in which it lies there. The outbox told nobody anything.
 */
export const feed: Upgrade = {
  number: 27,
  title: 'changes have an order that is read',
  statements: ({ key, compact, position, textIn }) => [
    'DROP TABLE outbox',
    `ALTER TABLE audit_log ADD COLUMN event ${key}`,
    'ALTER TABLE audit_log ADD COLUMN tree TEXT',
    'ALTER TABLE audit_log ADD COLUMN sequence BIGINT',
    // Of what is many events: how many. Its sequence is that of the last.
    'ALTER TABLE audit_log ADD COLUMN span BIGINT',
    ...position('audit_log'),
    `ALTER TABLE audit_log ADD COLUMN digest ${key}`,
    `ALTER TABLE audit_log ADD COLUMN previous_digest ${key}`,
    'CREATE UNIQUE INDEX audit_log_order ON audit_log (sequence) WHERE sequence IS NOT NULL',
    'CREATE UNIQUE INDEX audit_log_of_account ON audit_log (account_id, sequence) WHERE sequence IS NOT NULL',
    `ALTER TABLE audit_log ADD COLUMN actor_id ${key}`,
    `UPDATE audit_log SET actor_id = coalesce(${[
      'originalAuthUserId',
      'authKeyId',
      'authUserId',
      'authAccountId',
    ]
      .map((name) => textIn('author', name))
      .join(', ')})`,
    // Events below an account that is neither their own nor the topmost one, which sees all.
    `CREATE TABLE feed_below (
      ancestor_id ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      PRIMARY KEY (ancestor_id, sequence)
    ) ${compact}`,
    'CREATE INDEX feed_below_by_sequence ON feed_below (sequence)',
    // What is forgotten, and how far readers that go on by themselves have come.
    `CREATE TABLE feed_marks (
      name ${key} NOT NULL PRIMARY KEY,
      sequence BIGINT NOT NULL
    ) ${compact}`,
  ],
}
