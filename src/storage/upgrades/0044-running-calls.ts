import type { Upgrade } from '../upgrades.ts'

/** Running calls over carriers, with what they take of the trunks and the credit of their accounts. */
export const runningCalls: Upgrade = {
  number: 44,
  title: 'running calls',
  statements: ({ key, compact }) => [
    // `ordinal`: one more than the largest of the account. Of two servers that add a call at once, one has to read again.
    // Times in Unix milliseconds.
    `CREATE TABLE running_calls (
      account_id ${key} NOT NULL,
      ordinal INTEGER NOT NULL,
      id ${key} NOT NULL,
      call_id TEXT NOT NULL,
      direction ${key} NOT NULL,
      billing ${key} NOT NULL,
      trunk ${key},
      price TEXT,
      answered_at BIGINT,
      seen_at BIGINT NOT NULL,
      told_at BIGINT,
      PRIMARY KEY (account_id, ordinal)
    ) ${compact}`,
    'CREATE INDEX running_calls_seen ON running_calls (seen_at)',
  ],
}
