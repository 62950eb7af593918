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
  // The consumption of sign-ins and wrong passwords, counted by all processes together. Unix milliseconds: when
  // the bucket is full again, and when it counts as full because it was not used.
  `CREATE TABLE sign_in_buckets (
      bucket ${key} NOT NULL PRIMARY KEY,
      full_at BIGINT NOT NULL,
      void_at BIGINT NOT NULL
    ) ${compact}`,
  'CREATE INDEX sign_in_buckets_void ON sign_in_buckets (void_at)',
]

/** Phone numbers, carriers' stock and geography. */
export const numbersSchema = ({ key, compact }: Dialect): string[] => [
  // Keyed by the number, not by the account: a number exists once in the whole system, and the primary
  // key decides which account was first.
  `CREATE TABLE numbers (
      number ${key} NOT NULL PRIMARY KEY,
      account_id ${key} NOT NULL,
      state ${key} NOT NULL,
      carrier ${key} NOT NULL,
      used_by ${key} NOT NULL,
      country ${key} NOT NULL,
      classifier ${key} NOT NULL,
      created BIGINT NOT NULL,
      modified BIGINT NOT NULL,
      revision ${key} NOT NULL,
      doc TEXT NOT NULL,
      hidden TEXT NOT NULL,
      row_json TEXT NOT NULL
    )`,
  "CREATE INDEX numbers_owned ON numbers (account_id, number) WHERE account_id <> ''",
  "CREATE INDEX numbers_reserved ON numbers (account_id, number) WHERE state = 'reserved'",
  "CREATE INDEX numbers_available ON numbers (carrier, number) WHERE state = 'available'",
  'CREATE INDEX numbers_in_state ON numbers (state, number)',
  "CREATE INDEX numbers_passing ON numbers (state, modified, number) WHERE state IN ('aging', 'deleted', 'discovery')",
  "CREATE INDEX numbers_porting ON numbers (account_id, number) WHERE state IN ('port_in', 'port_out')",
  // One table of geography for the whole installation. An import writes its own generation, which counts
  // as soon as the record `localities` names it.
  `CREATE TABLE localities (
      generation ${key} NOT NULL,
      prefix ${key} NOT NULL,
      country ${key} NOT NULL,
      region TEXT NOT NULL,
      city TEXT NOT NULL,
      city_key ${key} NOT NULL,
      rate_center TEXT NOT NULL,
      lata TEXT NOT NULL,
      latitude TEXT NOT NULL,
      longitude TEXT NOT NULL,
      PRIMARY KEY (generation, prefix)
    ) ${compact}`,
  'CREATE INDEX localities_by_city ON localities (generation, country, city_key)',
  // Results of searches, from which the next page is read and found numbers are taken; removed after an
  // hour.
  `CREATE TABLE number_searches (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      found_at BIGINT NOT NULL,
      offers TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
  'CREATE INDEX number_searches_by_age ON number_searches (found_at)',
  // Numbers of the carriers `managed` and `inum` that an account has in stock. `taken_by` is the account
  // that uses it, or empty.
  `CREATE TABLE number_pools (
      account_id ${key} NOT NULL,
      carrier ${key} NOT NULL,
      number ${key} NOT NULL,
      taken_by ${key} NOT NULL DEFAULT '',
      PRIMARY KEY (account_id, carrier, number)
    ) ${compact}`,
  "CREATE INDEX number_pools_free ON number_pools (account_id, carrier, number) WHERE taken_by = ''",
]

/** Imports from Kazoo: import-kazoo/import-run. */
export const kazooSchema = ({ key, compact }: Dialect): string[] => [
  // `mark`: where reading continues in a database of which some pages are stored. `sequence`: where its
  // changes begin.
  `CREATE TABLE kazoo_databases (
      name ${key} NOT NULL PRIMARY KEY,
      chapter ${key} NOT NULL,
      mark TEXT,
      sequence TEXT,
      is_whole INTEGER NOT NULL,
      documents BIGINT NOT NULL,
      notes TEXT NOT NULL
    )`,
  // The result of each document, except those that come by the million. `mark` changes with the
  // document.
  `CREATE TABLE kazoo_documents (
      name ${key} NOT NULL,
      document_id ${key} NOT NULL,
      type ${key} NOT NULL,
      outcome ${key} NOT NULL,
      mark ${key} NOT NULL,
      records TEXT NOT NULL,
      PRIMARY KEY (name, document_id)
    ) ${compact}`,
  // Findings for the operator. `number` distinguishes the findings of one document.
  `CREATE TABLE kazoo_findings (
      name ${key} NOT NULL,
      document_id ${key} NOT NULL,
      number INTEGER NOT NULL,
      severity ${key} NOT NULL,
      code ${key} NOT NULL,
      field TEXT,
      old TEXT,
      new TEXT,
      PRIMARY KEY (name, document_id, number)
    ) ${compact}`,
  'CREATE INDEX kazoo_findings_code ON kazoo_findings (severity, code, name, document_id, number)',
  // The rows of the store before the import, which an undo restores.
  `CREATE TABLE kazoo_before (
      name ${key} NOT NULL,
      number BIGINT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (name, number)
    )`,
  // Documents that nothing here reads, as they came, with some of their files. `source`: their database.
  // `name`: empty for the document, else the name of the file.
  `CREATE TABLE kazoo_kept (
      account_id ${key} NOT NULL,
      source ${key} NOT NULL,
      id ${key} NOT NULL,
      name ${key} NOT NULL,
      type ${key} NOT NULL,
      revision ${key} NOT NULL,
      bytes BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, source, id, name)
    )`,
]
