import type { SchemaWords } from './create.ts'

/** Records with the names that they claim, the tree of accounts, and what belongs to sign-ins. */
export const recordsSchema = ({ create, compact }: SchemaWords): string[] => [
  create(
    'records',
    'account_id kind id',
    `owner_id sort_key created:bigint modified:bigint revision doc:text hidden:text row_json:text
      tally:bigint=0`,
  ),
  'CREATE INDEX records_sorted ON records (account_id, kind, sort_key, id)',
  "CREATE INDEX records_owned ON records (account_id, kind, owner_id, sort_key, id) WHERE owner_id <> ''",
  "CREATE INDEX records_services ON records (account_id) WHERE kind = 'services'",
  "CREATE INDEX records_passing ON records (kind, sort_key) WHERE kind IN ('login_attempt', 'revoked_token')",
  "CREATE INDEX records_webhooks ON records (account_id) WHERE kind = 'webhook'",
  // Names that must be unique.
  create('claims', 'account_id name value', 'holder_account_id kind record_id', compact),
  'CREATE INDEX claims_held ON claims (holder_account_id, kind, record_id)',
  // One row for each pair of an account and one of its ancestors: lists of children and descendants are
  // index reads. Accounts below an ancestor are found by the beginning of their name, realm or id.
  create(
    'account_tree',
    'account_id ancestor_id',
    "distance:integer sort_key name_key='' realm_key=''",
    compact,
  ),
  'CREATE INDEX account_tree_children ON account_tree (ancestor_id, distance, sort_key, account_id)',
  'CREATE INDEX account_tree_descendants ON account_tree (ancestor_id, sort_key, account_id)',
  'CREATE INDEX account_tree_names ON account_tree (ancestor_id, name_key, account_id)',
  'CREATE INDEX account_tree_realms ON account_tree (ancestor_id, realm_key, account_id)',
  'CREATE INDEX account_tree_ids ON account_tree (ancestor_id, account_id)',
  // Requests with an Idempotency-Key: what they changed, and the response.
  create(
    'idempotency_keys',
    'account_id asker idem_key',
    'token fingerprint holder:text begun_at:bigint changes:text? answer:text?',
  ),
  'CREATE INDEX idempotency_keys_begun ON idempotency_keys (begun_at)',
  // When named API keys were used.
  create('api_key_uses', 'account_id key_id', 'used_at:bigint'),
  // Challenges that a passkey has answered, until they expire.
  create('passkey_challenges', 'challenge', 'good_until:bigint'),
  'CREATE INDEX passkey_challenges_until ON passkey_challenges (good_until)',
  // What sign-ins and wrong passwords have used up, counted by all processes together. Unix
  // milliseconds: when the bucket is full again, and when it counts as full because it was not used.
  create('sign_in_buckets', 'bucket', 'full_at:bigint void_at:bigint', compact),
  'CREATE INDEX sign_in_buckets_void ON sign_in_buckets (void_at)',
]

/** Phone numbers, carriers' stock and geography. */
export const numbersSchema = ({ create, compact }: SchemaWords): string[] => [
  // Keyed by the number, not by the account: a number exists once in the whole system, and the primary
  // key decides which account was first.
  create(
    'numbers',
    'number',
    `account_id state carrier used_by country classifier created:bigint modified:bigint revision doc:text
      hidden:text row_json:text`,
  ),
  "CREATE INDEX numbers_owned ON numbers (account_id, number) WHERE account_id <> ''",
  "CREATE INDEX numbers_reserved ON numbers (account_id, number) WHERE state = 'reserved'",
  "CREATE INDEX numbers_available ON numbers (carrier, number) WHERE state = 'available'",
  'CREATE INDEX numbers_in_state ON numbers (state, number)',
  "CREATE INDEX numbers_passing ON numbers (state, modified, number) WHERE state IN ('aging', 'deleted', 'discovery')",
  "CREATE INDEX numbers_porting ON numbers (account_id, number) WHERE state IN ('port_in', 'port_out')",
  // One table of geography for the whole installation. An import writes its own generation, which counts
  // as soon as the record `localities` names it.
  create(
    'localities',
    'generation prefix',
    'country region:text city:text city_key rate_center:text lata:text latitude:text longitude:text',
    compact,
  ),
  'CREATE INDEX localities_by_city ON localities (generation, country, city_key)',
  // Results of searches, from which the next page is read and found numbers are taken; removed after an
  // hour.
  create('number_searches', 'account_id id', 'found_at:bigint offers:text'),
  'CREATE INDEX number_searches_by_age ON number_searches (found_at)',
  // Numbers of the carriers `managed` and `inum` that an account has in stock. `taken_by` is the account
  // that uses it, or empty.
  create('number_pools', 'account_id carrier number', "taken_by=''", compact),
  "CREATE INDEX number_pools_free ON number_pools (account_id, carrier, number) WHERE taken_by = ''",
]

/** Imports from Kazoo: import-kazoo/import-run. */
export const kazooSchema = ({ create, compact }: SchemaWords): string[] => [
  // `mark`: where reading continues in a database of which some pages are stored. `sequence`: where its
  // changes begin.
  create(
    'kazoo_databases',
    'name',
    'chapter mark:text? sequence:text? is_whole:integer documents:bigint notes:text',
  ),
  // The result of each document, except those that come by the million. `mark` changes with the
  // document.
  create('kazoo_documents', 'name document_id', 'type outcome mark records:text', compact),
  // What an operator is told. `number` distinguishes the findings of one document.
  create(
    'kazoo_findings',
    'name document_id number:integer',
    'severity code field:text? old:text? new:text?',
    compact,
  ),
  'CREATE INDEX kazoo_findings_code ON kazoo_findings (severity, code, name, document_id, number)',
  // The rows of the store before the import, which an undo restores.
  create('kazoo_before', 'name number:bigint', 'content:text'),
  // Documents that nothing here reads, as they came, with some of their files. `source`: their database.
  // `name`: empty for the document, else the name of the file.
  create('kazoo_kept', 'account_id source id name', 'type revision bytes:bigint doc:text'),
]
