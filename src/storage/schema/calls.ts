import type { Dialect } from '../sql-words.ts'

/** Call records by month (see ../monthly.ts), their statistics and archive, and running calls. */
export const callsSchema = ({ key, compact, monthly }: Dialect): string[] => [
  // One row for each month that has a table, was dropped, is being archived or is archived. `changes`:
  // see ../monthly.ts.
  `CREATE TABLE monthly_tables (
      name ${key} NOT NULL,
      month INTEGER NOT NULL,
      state ${key} NOT NULL,
      changes BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (name, month, state)
    )`,
  // Contains no rows: it is the parent of the partitions in PostgreSQL, and the pattern that the month
  // tables `cdrs_YYYYMM` are copied from in SQLite. An upgrade that changes it must change the month
  // tables of SQLite as well. The columns are explained in areas/calls/cdrs/columns.ts.
  `CREATE TABLE cdrs (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      ${monthly.column}
      created BIGINT NOT NULL,
      interaction_time BIGINT NOT NULL,
      interaction_key ${key} NOT NULL,
      owner_id ${key},
      call_direction TEXT,
      duration_seconds BIGINT,
      billing_seconds BIGINT,
      ringing_seconds BIGINT,
      channel_created_time BIGINT,
      caller_id_number TEXT,
      caller_id_name TEXT,
      callee_id_number TEXT,
      callee_id_name TEXT,
      hangup_cause TEXT,
      other_leg_call_id TEXT,
      sip_from TEXT,
      sip_to TEXT,
      from_uri TEXT,
      sip_request TEXT,
      authorizing_id TEXT,
      resource_id TEXT,
      account_billing TEXT,
      reseller_billing TEXT,
      rate BIGINT,
      rate_name TEXT,
      bridge_id TEXT,
      recording_url TEXT,
      media_recordings TEXT,
      media_server TEXT,
      call_priority TEXT,
      loopback_leg TEXT,
      cost BIGINT NOT NULL,
      reseller_cost BIGINT NOT NULL,
      csv_quoted INTEGER NOT NULL,
      csv_guarded INTEGER NOT NULL,
      rest TEXT,
      PRIMARY KEY (account_id, id${monthly.inKey})
    ) ${monthly.partitioned}`,
  'CREATE INDEX cdrs_listed ON cdrs (account_id, created, id)',
  'CREATE INDEX cdrs_interactions ON cdrs (account_id, interaction_time, interaction_key)',
  'CREATE INDEX cdrs_owned ON cdrs (account_id, owner_id, created, id) WHERE owner_id IS NOT NULL',
  'CREATE INDEX cdrs_owned_interactions ON cdrs (account_id, owner_id, interaction_time, interaction_key) WHERE owner_id IS NOT NULL',
  // The interaction of a leg, for switches that do not send it: the leg that arrives first decides for
  // those it is joined to (areas/calls/cdrs/intake). Rows are removed some days after the call.
  `CREATE TABLE cdr_interactions (
      account_id ${key} NOT NULL,
      call_id ${key} NOT NULL,
      interaction_time BIGINT NOT NULL,
      interaction_key ${key} NOT NULL,
      PRIMARY KEY (account_id, call_id)
    )`,
  // Sums of the records by period, a quarter of an hour or a day of UTC; `start` is its first second.
  // Statistics read these, and outlive the records.
  `CREATE TABLE cdr_tallies (
      account_id ${key} NOT NULL,
      dimension ${key} NOT NULL,
      seconds INTEGER NOT NULL,
      group_value ${key} NOT NULL,
      start BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      answered BIGINT NOT NULL,
      duration_seconds BIGINT NOT NULL,
      billing_seconds BIGINT NOT NULL,
      cost BIGINT NOT NULL,
      PRIMARY KEY (account_id, dimension, seconds, group_value, start)
    ) ${compact}`,
  // A file is `written` while no reader uses it yet, `live`, or `gone` while it waits to be removed.
  // `departures`: the number of deleted accounts whose records are still in it.
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
  // One row for an account, month and file. Gregorian seconds.
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
  // `ordinal`: one more than the largest of the account. If two servers add a call at the same time, one
  // reads again. Times in Unix milliseconds.
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
  // Seconds of an allotment that were used in the minute that begins then (Gregorian seconds).
  `CREATE TABLE allotment_uses (
      account_id ${key} NOT NULL,
      allotment ${key} NOT NULL,
      minute BIGINT NOT NULL,
      seconds BIGINT NOT NULL,
      PRIMARY KEY (account_id, allotment, minute)
    ) ${compact}`,
  'CREATE INDEX allotment_uses_by_age ON allotment_uses (minute)',
]
