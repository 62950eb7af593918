import type { Dialect } from '../sql-words.ts'

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
