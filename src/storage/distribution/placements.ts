import type pg from 'pg'
import type { Statement } from '../db.ts'

/** A table at the coordinator that Citus knows and that never has a row. */
export const marksTable = 'distributed_commits'

/**
 * Citus commits a write on one worker at once, though tables of the coordinator are part of it: a crash could lose those.
 * Touching a table that Citus knows makes it prepare first.
 */
export const commitInTwoPhases = `DELETE FROM ${marksTable} WHERE never = 0`

/** Whether the store is distributed to several servers. */
export const isDistributed = async (client: pg.Client) => {
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AND to_regclass('${marksTable}') IS NOT NULL AS found`,
  )
  return rows[0]?.found ?? false
}

const isCountedInsertion = ({ sql, expect }: Statement) =>
  expect !== undefined && /^\s*INSERT\b/.test(sql) && !/\bRETURNING\b/.test(sql)

/** Citus reports how many rows INSERT ... SELECT has selected, not added; RETURNING shows the added ones. */
export const countable = (statement: Statement): string =>
  isCountedInsertion(statement) ? `${statement.sql} RETURNING 1` : statement.sql

type Placement =
  /** On the workers, by `account_id`: rows of one account are on one worker. */
  | 'by_account'
  /** On the coordinator: what is read across accounts or has one order for all. */
  | 'at_coordinator'

/** What grows with calls, files and messages is distributed; the rest and all money stay (decision 30). */
export const placements: Readonly<Record<string, Placement>> = {
  account_tree: 'at_coordinator',
  allotment_uses: 'by_account',
  api_key_uses: 'at_coordinator',
  audit_heads: 'at_coordinator',
  audit_index: 'at_coordinator',
  audit_log: 'at_coordinator',
  balance_watch: 'at_coordinator',
  billing_progress: 'at_coordinator',
  cdr_file_accounts: 'at_coordinator',
  cdr_files: 'at_coordinator',
  cdr_interactions: 'by_account',
  cdr_tallies: 'by_account',
  cdrs: 'by_account',
  charge_quotes: 'at_coordinator',
  charged_items: 'at_coordinator',
  claims: 'at_coordinator',
  credit_notes: 'at_coordinator',
  feed_below: 'at_coordinator',
  feed_marks: 'at_coordinator',
  idempotency_keys: 'at_coordinator',
  invoice_entries: 'at_coordinator',
  invoice_events: 'at_coordinator',
  invoice_numbers: 'at_coordinator',
  invoice_states: 'at_coordinator',
  invoice_usage: 'at_coordinator',
  invoices: 'at_coordinator',
  kazoo_before: 'at_coordinator',
  kazoo_databases: 'at_coordinator',
  kazoo_documents: 'at_coordinator',
  kazoo_findings: 'at_coordinator',
  kazoo_kept: 'at_coordinator',
  leases: 'at_coordinator',
  ledger_balances: 'at_coordinator',
  ledger_entries: 'at_coordinator',
  ledger_months: 'at_coordinator',
  ledger_postings: 'at_coordinator',
  localities: 'at_coordinator',
  long_parts: 'by_account',
  long_runs: 'at_coordinator',
  mail_attempts: 'by_account',
  migrations_performed: 'at_coordinator',
  monthly_tables: 'at_coordinator',
  number_pools: 'at_coordinator',
  number_searches: 'at_coordinator',
  numbers: 'at_coordinator',
  passkey_challenges: 'at_coordinator',
  payer_turns: 'at_coordinator',
  payment_disputes: 'at_coordinator',
  payment_events: 'at_coordinator',
  quantities: 'at_coordinator',
  quantity_days: 'at_coordinator',
  quantity_moves: 'at_coordinator',
  records: 'at_coordinator',
  rounds: 'at_coordinator',
  running_calls: 'at_coordinator',
  service_audit: 'at_coordinator',
  service_bills: 'at_coordinator',
  sign_in_buckets: 'at_coordinator',
  storage_upgrades: 'at_coordinator',
  topups: 'at_coordinator',
  transactions: 'at_coordinator',
  webhook_attempts: 'by_account',
  webhook_deliveries: 'at_coordinator',
  webhook_failures: 'at_coordinator',
  webhook_replays: 'at_coordinator',
  websockets: 'at_coordinator',
  work: 'at_coordinator',
}

export const tablesThatLie = (placement: Placement): string[] =>
  Object.keys(placements).filter((name) => placements[name] === placement)
