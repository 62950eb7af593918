import type pg from 'pg'

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

/** An acknowledged write is on disk, whatever the server's default says. */
export const makeDurable = async (client: pg.Client) => {
  const { rows } = await client.query('SHOW synchronous_commit')
  if (rows[0]?.synchronous_commit === 'off') await client.query('SET synchronous_commit = on')
}
