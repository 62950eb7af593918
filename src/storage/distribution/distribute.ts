import { Refusal } from '../saved-store.ts'
import { type Run, upgrades } from '../upgrades.ts'
import { marksTable, tablesThatLie } from './placements.ts'

export interface Placed {
  table: string
  outcome: 'distributed' | 'distributed_before' | 'at_coordinator'
}

const first = async (run: Run, sql: string, params: readonly string[] = []) => (await run(sql, params))[0]

const requireCitus = async (run: Run) => {
  if (!(await first(run, "SELECT 1 AS one FROM pg_extension WHERE extname = 'citus'")))
    throw new Refusal(
      'the database has no extension citus: load it (shared_preload_libraries) and CREATE EXTENSION citus on all servers',
    )
  const nodes = await run('SELECT groupid = 0 AS is_coordinator, shouldhaveshards AS holds FROM pg_dist_node')
  if (!nodes.some(({ is_coordinator, holds }) => !is_coordinator && holds))
    throw new Refusal('the database has no workers: add them with citus_add_node(host, port)')
  if (!nodes.some(({ is_coordinator }) => is_coordinator))
    throw new Refusal(
      'the coordinator does not know its address: call citus_set_coordinator_host(host, port)',
    )
}

const requireUpgraded = async (run: Run) => {
  const known = upgrades.at(-1)?.number
  const isStore = await first(run, "SELECT 1 AS one WHERE to_regclass('storage_upgrades') IS NOT NULL")
  if (!isStore) throw new Refusal('this database contains no store: start the server once')
  const reached = await first(run, 'SELECT max(number) AS number FROM storage_upgrades')
  if (reached?.number !== known)
    throw new Refusal(
      `the store is at upgrade ${reached?.number}, this version needs ${known}: start a server of this version once`,
    )
}

/** A running server would commit on the workers before the coordinator. */
const requireNobodyElse = async (run: Run) => {
  const others = await run(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type = 'client backend' AND application_name NOT LIKE 'citus%'`,
  )
  if (others.length > 0)
    throw new Refusal(
      `the database has ${others.length} other session${others.length === 1 ? '' : 's'}: stop the servers first`,
    )
}

const isKnownToCitus = async (run: Run, table: string) =>
  (await first(run, 'SELECT 1 AS one FROM pg_dist_partition WHERE logicalrelid = $1::regclass', [table])) !==
  undefined

const placeMarks = async (run: Run) => {
  await run(`CREATE TABLE IF NOT EXISTS ${marksTable} (never INTEGER NOT NULL PRIMARY KEY)`)
  if (!(await isKnownToCitus(run, marksTable)))
    await run('SELECT citus_add_local_table_to_metadata($1::regclass)', [marksTable])
}

const distributeTable = async (run: Run, table: string): Promise<Placed> => {
  const isBefore = await isKnownToCitus(run, table)
  if (!isBefore) await run("SELECT create_distributed_table($1::regclass, 'account_id')", [table])
  // Nothing reads the copies at the coordinator.
  await run('SELECT truncate_local_data_after_distributing_table($1::regclass)', [table])
  return { table, outcome: isBefore ? 'distributed_before' : 'distributed' }
}

/** Distributes the remaining tables one by one, so it can be repeated after a failure. No server may run. */
export const distributeStorage = async (run: Run, tell: (placed: Placed) => void) => {
  await requireCitus(run)
  await run("SELECT pg_advisory_lock(hashtext('crosspoint upgrades'))")
  await requireUpgraded(run)
  await requireNobodyElse(run)
  await placeMarks(run)
  // A session from before does not know the marks.
  await requireNobodyElse(run)
  for (const table of tablesThatLie('by_account')) tell(await distributeTable(run, table))
  for (const table of tablesThatLie('at_coordinator')) tell({ table, outcome: 'at_coordinator' })
}
