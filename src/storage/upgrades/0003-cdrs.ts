import type { Upgrade } from '../upgrades.ts'

/**
 * Call detail records by month (storage/monthly.ts). `cdrs` itself holds no row: it is the parent of the partitions in
 * PostgreSQL and the pattern that the month tables `cdrs_YYYYMM` are copied from in SQLite. An upgrade that changes
 * it has to change the month tables of SQLite as well. What the columns mean: areas/cdrs/columns.ts.
 */
export const cdrs: Upgrade = {
  number: 3,
  title: 'call detail records',
  statements: ({ key, compact, monthly }) => [
    // One row for each month that has a table, one for each that was ever dropped. It belongs to no account and stays
    // small.
    `CREATE TABLE monthly_tables (
      name ${key} NOT NULL,
      month INTEGER NOT NULL,
      state ${key} NOT NULL,
      PRIMARY KEY (name, month, state)
    )`,
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
    `CREATE INDEX cdrs_owned_interactions ON cdrs (account_id, owner_id, interaction_time, interaction_key)
      WHERE owner_id IS NOT NULL`,
    // Which interaction a leg belongs to, for switches that do not say it: the leg that arrives first decides for
    // those it is joined to (areas/cdrs/intake). Rows are of use for as long as a call lasts, and go after some days.
    `CREATE TABLE cdr_interactions (
      account_id ${key} NOT NULL,
      call_id ${key} NOT NULL,
      interaction_time BIGINT NOT NULL,
      interaction_key ${key} NOT NULL,
      PRIMARY KEY (account_id, call_id)
    )`,
    // Sums of the records by period: statistics read these instead of the records, and outlive them. A period is a
    // quarter of an hour or a day of UTC; its first second is `start`.
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
  ],
}
