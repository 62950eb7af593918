import type { Upgrade } from '../upgrades.ts'

/** What requests with an Idempotency-Key have done, and what they were answered. */
export const idempotency: Upgrade = {
  number: 12,
  title: 'idempotency keys',
  statements: ({ key }) => [
    `CREATE TABLE idempotency_keys (
      account_id ${key} NOT NULL,
      idem_key ${key} NOT NULL,
      token ${key} NOT NULL,
      fingerprint ${key} NOT NULL,
      holder TEXT NOT NULL,
      begun_at BIGINT NOT NULL,
      changes TEXT,
      answer TEXT,
      PRIMARY KEY (account_id, idem_key)
    )`,
    'CREATE INDEX idempotency_keys_begun ON idempotency_keys (begun_at)',
  ],
}
