import type { Dialect } from '../sql-words.ts'

/** Records with the names that they claim, the tree of accounts, and what belongs to sign-ins. */
export const recordsSchema = ({ key, compact }: Dialect): string[] => [
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
  "CREATE INDEX records_services ON records (account_id) WHERE kind = 'services'",
  "CREATE INDEX records_passing ON records (kind, sort_key) WHERE kind IN ('login_attempt', 'revoked_token')",
  "CREATE INDEX records_webhooks ON records (account_id) WHERE kind = 'webhook'",
  // Names that must be unique.
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
  // One row for each pair of an account and one of its ancestors: lists of children and descendants are
  // index reads. Accounts below an ancestor are found by the beginning of their name, realm or id.
  `CREATE TABLE account_tree (
      account_id ${key} NOT NULL,
      ancestor_id ${key} NOT NULL,
      distance INTEGER NOT NULL,
      sort_key ${key} NOT NULL,
      name_key ${key} NOT NULL DEFAULT '',
      realm_key ${key} NOT NULL DEFAULT '',
      PRIMARY KEY (account_id, ancestor_id)
    ) ${compact}`,
  'CREATE INDEX account_tree_children ON account_tree (ancestor_id, distance, sort_key, account_id)',
  'CREATE INDEX account_tree_descendants ON account_tree (ancestor_id, sort_key, account_id)',
  'CREATE INDEX account_tree_names ON account_tree (ancestor_id, name_key, account_id)',
  'CREATE INDEX account_tree_realms ON account_tree (ancestor_id, realm_key, account_id)',
  'CREATE INDEX account_tree_ids ON account_tree (ancestor_id, account_id)',
  // Requests with an Idempotency-Key: what they changed, and the response.
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
  'CREATE INDEX idempotency_keys_begun ON idempotency_keys (begun_at)',
  // When named API keys were used.
  `CREATE TABLE api_key_uses (
      account_id ${key} NOT NULL,
      key_id ${key} NOT NULL,
      used_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, key_id)
    )`,
  // Challenges that a passkey has answered, until they expire.
  `CREATE TABLE passkey_challenges (
      challenge ${key} NOT NULL PRIMARY KEY,
      good_until BIGINT NOT NULL
    )`,
  'CREATE INDEX passkey_challenges_until ON passkey_challenges (good_until)',
  // What sign-ins and wrong passwords have used up, counted by all processes together. Unix
  // milliseconds: when the bucket is full again, and when it counts as full because it was not used.
  `CREATE TABLE sign_in_buckets (
      bucket ${key} NOT NULL PRIMARY KEY,
      full_at BIGINT NOT NULL,
      void_at BIGINT NOT NULL
    ) ${compact}`,
  'CREATE INDEX sign_in_buckets_void ON sign_in_buckets (void_at)',
]
