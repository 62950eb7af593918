import type pg from 'pg'
import type { Statement } from '../db.ts'

/** A table at the coordinator that Citus knows of, and that never has a row. */
export const marksTable = 'distributed_commits'

/**
 * Citus commits at once what was written on one worker alone; it does not count what was written into tables of the
 * coordinator that it knows nothing of. A crash between the two would keep the one without the other. Touching a table
 * of the coordinator that it knows makes it prepare first, wherever there is a worker to commit on.
 */
export const commitInTwoPhases = `DELETE FROM ${marksTable} WHERE never = 0`

/** Whether the store behind a session lies on several servers. */
export const isDistributed = async (client: pg.Client) => {
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AND to_regclass('${marksTable}') IS NOT NULL AS found`,
  )
  return rows[0]?.found ?? false
}

const isCountedInsertion = ({ sql, expect }: Statement) =>
  expect !== undefined && /^\s*INSERT\b/.test(sql) && !/\bRETURNING\b/.test(sql)

/** Citus tells how many rows INSERT ... SELECT has selected, not how many it has added: those that come back are right. */
export const countable = (statement: Statement): string =>
  isCountedInsertion(statement) ? `${statement.sql} RETURNING 1` : statement.sql
