import type { Upgrade } from '../upgrades.ts'

/**
 * The inventory of phone numbers. It is keyed by the number, not by the account: a number exists once in the whole
 * system, and the primary key is what decides who was first. Lists of an account are read by an index of their own.
 */
export const numbers: Upgrade = {
  number: 5,
  title: 'phone numbers',
  statements: ({ key }) => [
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
    // States that end by themselves.
    `CREATE INDEX numbers_passing ON numbers (state, modified, number)
      WHERE state IN ('aging', 'deleted', 'discovery')`,
    // Numbers of mobile devices were names that the devices claimed.
    `INSERT INTO numbers (number, account_id, state, carrier, used_by, country, classifier, created, modified,
        revision, doc, hidden, row_json)
      SELECT c.value, c.holder_account_id, 'in_service', 'knm_mdn', 'mobile', '', 'unknown', r.created, r.created,
        '00000000000000000000000000000000',
        '{"mobile":{"provider":"local","authorizing":{"account-id":"' || c.holder_account_id
          || '"},"device-id":"' || c.record_id || '"}}',
        '{"features":{"local":{}},"deviceId":"' || c.record_id || '"}',
        '{"state":"in_service","features":["local"],"assigned_to":"' || c.holder_account_id
          || '","used_by":"mobile","created":' || r.created || ',"updated":' || r.created || '}'
      FROM claims c
      JOIN records r ON r.account_id = c.holder_account_id AND r.kind = c.kind AND r.id = c.record_id
      WHERE c.account_id = 'system' AND c.name = 'number' AND c.kind = 'device' AND c.value LIKE '+%'`,
    "DELETE FROM claims WHERE account_id = 'system' AND name = 'number' AND kind = 'device'",
  ],
}
