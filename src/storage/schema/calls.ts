import type { SchemaWords } from './create.ts'

/** Call records by month (see ../monthly.ts), their statistics and archive, and running calls. */
export const callsSchema = ({ create, compact, monthly }: SchemaWords): string[] => [
  // One row for each month that has a table, was dropped, is being archived or is archived. `changes`:
  // see ../monthly.ts.
  create('monthly_tables', 'name month:integer state', 'changes:bigint=0'),
  // Contains no rows: it is the parent of the partitions in PostgreSQL, and the pattern that the month
  // tables `cdrs_YYYYMM` are copied from in SQLite. An upgrade that changes it must change the month
  // tables of SQLite as well. The columns are explained in areas/calls/cdrs/columns.ts.
  create(
    'cdrs',
    `account_id id ${monthly.column}`,
    `created:bigint interaction_time:bigint interaction_key owner_id? call_direction:text?
      duration_seconds:bigint? billing_seconds:bigint? ringing_seconds:bigint? channel_created_time:bigint?
      caller_id_number:text? caller_id_name:text? callee_id_number:text? callee_id_name:text?
      hangup_cause:text? other_leg_call_id:text? sip_from:text? sip_to:text? from_uri:text?
      sip_request:text? authorizing_id:text? resource_id:text? account_billing:text? reseller_billing:text?
      rate:bigint? rate_name:text? bridge_id:text? recording_url:text? media_recordings:text?
      media_server:text? call_priority:text? loopback_leg:text? cost:bigint reseller_cost:bigint
      csv_quoted:integer csv_guarded:integer rest:text?`,
    monthly.partitioned,
  ),
  'CREATE INDEX cdrs_listed ON cdrs (account_id, created, id)',
  'CREATE INDEX cdrs_interactions ON cdrs (account_id, interaction_time, interaction_key)',
  'CREATE INDEX cdrs_owned ON cdrs (account_id, owner_id, created, id) WHERE owner_id IS NOT NULL',
  'CREATE INDEX cdrs_owned_interactions ON cdrs (account_id, owner_id, interaction_time, interaction_key) WHERE owner_id IS NOT NULL',
  // The interaction of a leg, for switches that do not send it: the leg that arrives first decides for
  // those it is joined to (areas/calls/cdrs/intake). Rows are removed some days after the call.
  create('cdr_interactions', 'account_id call_id', 'interaction_time:bigint interaction_key'),
  // Sums of the records by period, a quarter of an hour or a day of UTC; `start` is its first second.
  // Statistics read these, and outlive the records.
  create(
    'cdr_tallies',
    'account_id dimension seconds:integer group_value start:bigint',
    'calls:bigint answered:bigint duration_seconds:bigint billing_seconds:bigint cost:bigint',
    compact,
  ),
  // A file is `written` while no reader uses it yet, `live`, or `gone` while it waits to be removed.
  // `departures`: the number of deleted accounts whose records are still in it.
  create(
    'cdr_files',
    'path',
    'month:integer state records:bigint bytes:bigint digest:text departures:integer',
  ),
  'CREATE INDEX cdr_files_month ON cdr_files (month, state)',
  // One row for an account, month and file. Gregorian seconds.
  create(
    'cdr_file_accounts',
    'account_id month:integer path',
    'records:bigint first_created:bigint last_created:bigint',
    compact,
  ),
  'CREATE INDEX cdr_file_accounts_path ON cdr_file_accounts (path)',
  // `ordinal`: one more than the largest of the account. If two servers add a call at the same time, one
  // reads again. Times in Unix milliseconds.
  create(
    'running_calls',
    'account_id ordinal:integer',
    `id call_id:text direction billing trunk? price:text? answered_at:bigint? seen_at:bigint
      told_at:bigint?`,
    compact,
  ),
  'CREATE INDEX running_calls_seen ON running_calls (seen_at)',
  // Seconds of an allotment that were used in the minute that begins then (Gregorian seconds).
  create('allotment_uses', 'account_id allotment minute:bigint', 'seconds:bigint', compact),
  'CREATE INDEX allotment_uses_by_age ON allotment_uses (minute)',
]
