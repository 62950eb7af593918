import type pg from 'pg'
import { Refusal } from './saved-store.ts'

/**
 * Reads must use indexes: the planner knows little about new tables. Parallel workers and JIT doubled the processor time of exports.
 */
export const makeReadOnly = async (client: pg.Client) => {
  await client.query(`SET default_transaction_read_only = on; SET enable_seqscan = off;
    SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET max_parallel_workers_per_gather = 0; SET jit = off; SET datestyle = 'ISO'`)
}

/** Sorts in memory. */
export const makeExporting = async (client: pg.Client) => {
  await makeReadOnly(client)
  await client.query("SET work_mem = '32MB'")
}

/**
 * Commits wait for the disk and for the synchronous standby, whatever the server's settings are; stronger settings stay.
 * Plans are made for the current size of tables: with a cached plan a removal took 17 s instead of 50 ms.
 */
export const makeWriting = async (client: pg.Client) => {
  await client.query(`SET plan_cache_mode = force_custom_plan; SELECT set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`)
}

const pidOf = async (client: pg.Client) => {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid
}

/** Other encodings cannot store every text. */
export const assertUtf8 = async (client: pg.Client) => {
  const { rows } = await client.query<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding",
  )
  const encoding = rows[0]?.encoding
  if (encoding !== 'UTF8')
    throw new Refusal(
      `the database has the encoding ${encoding}: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
    )
}

const lentOut =
  'the URL is of a pooler in transaction or statement mode, which loses notifications and prepared statements: use the URL of the database server, or session mode'

/** The pid of the handshake, which a pooler invents. Not in the types of pg. */
const announcedPid = (client: pg.Client): unknown => Reflect.get(client, 'processID')

// A shared pool may return the same session by chance.
const proofRounds = 5
const asksPerRound = 10

/**
 * Rejects poolers that change sessions between statements. While `other` is in a transaction, `one` would get another process.
 */
export const assertOwnSessions = async (one: pg.Client, other: pg.Client) => {
  const own = await pidOf(one)
  if (own === announcedPid(one)) return
  for (let round = 0; round < proofRounds; round += 1) {
    // A pooler reuses the session that was released last.
    if ((await pidOf(one)) !== own) throw new Refusal(lentOut)
    // Statement pooling allows no transactions.
    await other.query('BEGIN').catch((error) => {
      throw new Refusal(lentOut, { cause: error })
    })
    if ((await pidOf(other)) === own) throw new Refusal(lentOut)
    for (let ask = 0; ask < asksPerRound; ask += 1) if ((await pidOf(one)) !== own) throw new Refusal(lentOut)
    await other.query('ROLLBACK')
  }
}

/** Notifications: sender and stale keys. */
export const staleChannel = 'crosspoint_stale'

/** Rejects a session that is not listening afterwards. */
export const listen = async (client: pg.Client) => {
  await client.query(`LISTEN ${staleChannel}`)
  const { rowCount } = await client.query('SELECT 1 FROM pg_listening_channels() AS name WHERE name = $1', [
    staleChannel,
  ])
  if (rowCount !== 1) throw new Refusal(lentOut)
}

/**
 * Whether a silent session waits for a synchronous standby, directly or behind another commit. One second is more than a standby needs.
 */
export const waitsForStandbySql = `SELECT 1 AS one FROM pg_stat_activity WHERE pid = $1 AND EXISTS (
  SELECT 1 FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND state_change < clock_timestamp() - interval '1 second')`
