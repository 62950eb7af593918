import type { Upgrade } from '../upgrades.ts'

/** Where numbers are, what was found lately, and the numbers that accounts keep in stock. */
export const localities: Upgrade = {
  number: 6,
  title: 'localities, number searches and number pools',
  statements: ({ key, compact }) => [
    // No account leads this key: it is one table of geography for the whole installation, replaced as a whole
    // (a reference table where the store is distributed). An import writes a generation of its own, which counts
    // from the moment that the record `localities` names it.
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
    // Results of searches, from which the next page is read and found numbers are taken; gone after an hour.
    `CREATE TABLE number_searches (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      found_at BIGINT NOT NULL,
      offers TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX number_searches_by_age ON number_searches (found_at)',
    // Numbers of the carriers `managed` and `inum` that an account has in stock. `taken_by` is who uses it, or empty.
    `CREATE TABLE number_pools (
      account_id ${key} NOT NULL,
      carrier ${key} NOT NULL,
      number ${key} NOT NULL,
      taken_by ${key} NOT NULL DEFAULT '',
      PRIMARY KEY (account_id, carrier, number)
    ) ${compact}`,
    "CREATE INDEX number_pools_free ON number_pools (account_id, carrier, number) WHERE taken_by = ''",
  ],
}
