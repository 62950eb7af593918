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

/**
 * Tables that grow with calls, files and messages are distributed; all others and all money stay (decision 30).
 */
const tables = {
  /** On the workers, by `account_id`: rows of one account are on one worker. */
  by_account:
    'allotment_uses cdr_interactions cdr_tallies cdrs long_parts mail_attempts webhook_attempts'.split(' '),
  /** On the coordinator: what is read across accounts or has one order for all. */
  at_coordinator: (
    'account_tree api_key_uses audit_heads audit_index audit_log balance_watch ' +
    'billing_progress cdr_file_accounts cdr_files charge_quotes charged_items claims ' +
    'credit_notes feed_below feed_marks idempotency_keys invoice_entries invoice_events ' +
    'invoice_numbers invoice_states invoice_usage invoices kazoo_before kazoo_databases ' +
    'kazoo_documents kazoo_findings kazoo_kept leases ledger_balances ledger_entries ' +
    'ledger_months ledger_postings localities long_runs migrations_performed monthly_tables ' +
    'number_pools number_searches numbers passkey_challenges payer_turns payment_disputes ' +
    'payment_events quantities quantity_days quantity_moves records running_calls ' +
    'scheduled_jobs service_audit service_bills sign_in_buckets storage_upgrades topups transactions ' +
    'webhook_deliveries webhook_failures webhook_replays websockets work'
  ).split(' '),
}

export const tablesThatLie = (placement: keyof typeof tables): readonly string[] => tables[placement]

export const allTables = Object.values(tables).flat()
