import type { Upgrade } from '../upgrades.ts'

/** What webhooks are still to be told, what became of what they were told, and which of them fail. */
export const webhooks: Upgrade = {
  number: 28,
  title: 'deliveries of webhooks',
  statements: ({ key, compact }) => [
    // Times in Unix milliseconds. `lane` is the record that an event is about: what is in one goes in the order of
    // `sequence`. `turn` is empty but for events that are told again.
    `CREATE TABLE webhook_deliveries (
      hook_id ${key} NOT NULL,
      lane ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      turn ${key} NOT NULL,
      account_id ${key} NOT NULL,
      due_at BIGINT NOT NULL,
      since BIGINT NOT NULL,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (hook_id, lane, sequence, turn)
    )`,
    'CREATE INDEX webhook_deliveries_due ON webhook_deliveries (hook_id, due_at, sequence)',
    'CREATE INDEX webhook_deliveries_of_account ON webhook_deliveries (account_id)',
    // Which events a hook is to be told again: those behind one sequence, up to another.
    `CREATE TABLE webhook_replays (
      turn ${key} NOT NULL PRIMARY KEY,
      account_id ${key} NOT NULL,
      hook_id ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      last BIGINT NOT NULL
    ) ${compact}`,
    // Hooks that have failed since then without a success.
    `CREATE TABLE webhook_failures (
      hook_id ${key} NOT NULL PRIMARY KEY,
      account_id ${key} NOT NULL,
      since BIGINT NOT NULL
    ) ${compact}`,
    // `at` in Gregorian seconds.
    `CREATE TABLE webhook_attempts (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      hook_id ${key} NOT NULL,
      at BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX webhook_attempts_of_account ON webhook_attempts (account_id, at, id)',
    'CREATE INDEX webhook_attempts_of_hook ON webhook_attempts (account_id, hook_id, at, id)',
    'CREATE INDEX webhook_attempts_by_age ON webhook_attempts (at)',
    "CREATE INDEX records_webhooks ON records (account_id) WHERE kind = 'webhook'",
  ],
}
