import type { Upgrade } from '../upgrades.ts'

/**
 * Idempotency keys belong to who asks, not to everybody of the account. Who asked before is not known: `''`.
 * Further, when named API keys were used, and the challenges that passkeys have answered.
 */
export const credentials: Upgrade = {
  number: 22,
  title: 'idempotency keys by asker, named API keys, passkeys',
  statements: ({ key }) => [
    'ALTER TABLE idempotency_keys RENAME TO idempotency_keys_of_accounts',
    'DROP INDEX idempotency_keys_begun',
    `CREATE TABLE idempotency_keys (
      account_id ${key} NOT NULL,
      asker ${key} NOT NULL,
      idem_key ${key} NOT NULL,
      token ${key} NOT NULL,
      fingerprint ${key} NOT NULL,
      holder TEXT NOT NULL,
      begun_at BIGINT NOT NULL,
      changes TEXT,
      answer TEXT,
      PRIMARY KEY (account_id, asker, idem_key)
    )`,
    // Kept answers hold tokens of whoever asked. What was done stays known, so that it is not done again.
    `INSERT INTO idempotency_keys (account_id, asker, idem_key, token, fingerprint, holder, begun_at, changes)
      SELECT account_id, '', idem_key, token, fingerprint, holder, begun_at, changes FROM idempotency_keys_of_accounts
        WHERE changes IS NOT NULL`,
    'DROP TABLE idempotency_keys_of_accounts',
    'CREATE INDEX idempotency_keys_begun ON idempotency_keys (begun_at)',
    `CREATE TABLE api_key_uses (
      account_id ${key} NOT NULL,
      key_id ${key} NOT NULL,
      used_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, key_id)
    )`,
    // Challenges that a passkey has answered, until they would be too old anyway.
    `CREATE TABLE passkey_challenges (
      challenge ${key} NOT NULL PRIMARY KEY,
      good_until BIGINT NOT NULL
    )`,
    'CREATE INDEX passkey_challenges_until ON passkey_challenges (good_until)',
  ],
}
