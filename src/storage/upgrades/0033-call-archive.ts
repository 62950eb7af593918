import type { Upgrade } from '../upgrades.ts'

/** Which call records lie in files outside the store: areas/cdrs/archive. */
export const callArchive: Upgrade = {
  number: 33,
  title: 'call records in files',
  statements: ({ key, compact }) => [
    // Of a month that is just being archived: how often its rows have changed since that began.
    'ALTER TABLE monthly_tables ADD COLUMN changes BIGINT NOT NULL DEFAULT 0',
    // A file is `written` while nobody reads it yet, `live`, or `gone` while it waits to be removed.
    // `departures` counts the accounts that have left, whose records are still in it.
    `CREATE TABLE cdr_files (
      path ${key} NOT NULL PRIMARY KEY,
      month INTEGER NOT NULL,
      state ${key} NOT NULL,
      records BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      digest TEXT NOT NULL,
      departures INTEGER NOT NULL
    )`,
    'CREATE INDEX cdr_files_month ON cdr_files (month, state)',
    // One row for an account, month and file, whatever the number of records. Gregorian seconds.
    `CREATE TABLE cdr_file_accounts (
      account_id ${key} NOT NULL,
      month INTEGER NOT NULL,
      path ${key} NOT NULL,
      records BIGINT NOT NULL,
      first_created BIGINT NOT NULL,
      last_created BIGINT NOT NULL,
      PRIMARY KEY (account_id, month, path)
    ) ${compact}`,
    'CREATE INDEX cdr_file_accounts_path ON cdr_file_accounts (path)',
  ],
}
