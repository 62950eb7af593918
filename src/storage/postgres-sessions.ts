import type pg from 'pg'
import { Refusal } from './saved-store.ts'

// How connections are set before anybody uses them.

/**
 * Nothing is written but by change sets: a connection for reads refuses. Every read goes along an index as far as its
 * bound; the planner, which knows little of fresh tables, shall not think of anything else. Nor of starting processes or
 * a compiler for it: parts of exports took twice the processor time that way.
 */
export const makeReadOnly = async (client: pg.Client) => {
  await client.query(`SET default_transaction_read_only = on; SET enable_seqscan = off;
    SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET max_parallel_workers_per_gather = 0; SET jit = off; SET datestyle = 'ISO'`)
}

/** The lines of an export are sorted in memory. */
export const makeExporting = async (client: pg.Client) => {
  await makeReadOnly(client)
  await client.query("SET work_mem = '32MB'")
}

/**
 * An acknowledged write is on disk, here and at the synchronous standby if there is one, whatever the server, the role,
 * the database or the address say; what is stronger than that stays. It is always set: a setting that is changed later
 * does not reach this session any more.
 *
 * PostgreSQL plans each write for the present size of the tables. A cached plan from the time when they were small compared all
 * rows of two tables: a removal of 50 ms took 17 s.
 */
export const makeWriting = async (client: pg.Client) => {
  await client.query(`SET plan_cache_mode = force_custom_plan; SELECT set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`)
}

/** The process of the server behind a session, as the server itself tells. */
const pidOf = async (client: pg.Client) => {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid
}

/** Refuses a database in another encoding than UTF-8: it cannot store every text. */
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
  'the address leads to a pooler that lends out sessions by transaction or statement, which lose notifications and prepared statements: name the server itself, or let the pooler pool by session'

/** The process that the server named when the connection was made, of which pg's types do not tell: a pooler makes one up. */
const announcedPid = (client: pg.Client): unknown => Reflect.get(client, 'processID')

// A pool that others use as well may serve somebody twice with the same session by chance.
const proofRounds = 5
const asksPerRound = 10

/**
 * Refuses a pooler that gives a session to somebody else between two statements. While `other` is within a transaction
 * no session of its own is free: then `one` is served by another process than before, or they were served by one.
 */
export const assertOwnSessions = async (one: pg.Client, other: pg.Client) => {
  const own = await pidOf(one)
  if (own === announcedPid(one)) return
  for (let round = 0; round < proofRounds; round += 1) {
    // A pooler lends out first what was given back last: so it is given back just now.
    if ((await pidOf(one)) !== own) throw new Refusal(lentOut)
    // Where single statements are lent out, no transaction may begin.
    await other.query('BEGIN').catch((error) => {
      throw new Refusal(lentOut, { cause: error })
    })
    if ((await pidOf(other)) === own) throw new Refusal(lentOut)
    for (let ask = 0; ask < asksPerRound; ask += 1) if ((await pidOf(one)) !== own) throw new Refusal(lentOut)
    await other.query('ROLLBACK')
  }
}

/** What the processes of a store tell each other on: who it was, and what it has made stale. */
export const staleChannel = 'crosspoint_stale'

/** Listens; the session has to be the same at the next statement, or it would never hear anything. */
export const listen = async (client: pg.Client) => {
  await client.query(`LISTEN ${staleChannel}`)
  const { rowCount } = await client.query('SELECT 1 FROM pg_listening_channels() AS name WHERE name = $1', [
    staleChannel,
  ])
  if (rowCount !== 1) throw new Refusal(lentOut)
}

/**
 * Whether a silent session waits for a synchronous standby, or for another one that does: a commit that tells something
 * holds up those after it. Its server is asked on another session; one second is more than a standby needs.
 */
export const waitsForStandbySql = `SELECT 1 AS one FROM pg_stat_activity WHERE pid = $1 AND EXISTS (
  SELECT 1 FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND state_change < clock_timestamp() - interval '1 second')`
