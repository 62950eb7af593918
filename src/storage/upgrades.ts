import type { Clock } from '../lib/clock.ts'
import type { Database, Row, Value } from './db.ts'
import { Refusal } from './saved-store.ts'
import { billingSchema } from './schema/billing.ts'
import { callsSchema } from './schema/calls.ts'
import { eventsSchema, workSchema } from './schema/events.ts'
import { kazooSchema, numbersSchema, recordsSchema } from './schema/records.ts'
import { type Dialect, dialects } from './sql-words.ts'

export type Run = (sql: string, params?: readonly Value[]) => Promise<Row[]>

/** Never edit a released upgrade: add the next one. */
export interface Upgrade {
  number: number
  title: string
  statements(dialect: Dialect): string[]
}

export const upgrades: readonly Upgrade[] = [
  {
    number: 1,
    title: 'initial schema',
    statements: (dialect) => [
      ...recordsSchema(dialect),
      ...eventsSchema(dialect),
      ...workSchema(dialect),
      ...numbersSchema(dialect),
      ...billingSchema(dialect),
      ...callsSchema(dialect),
      ...kazooSchema(dialect),
    ],
  },
  {
    number: 2,
    title: 'scheduled jobs',
    // Held leases are renamed as well: their holders lose them, and this version waits until they expire.
    statements: () => [
      'ALTER TABLE rounds RENAME TO scheduled_jobs',
      "UPDATE leases SET name = 'scheduled-job/' || substr(name, 7) WHERE name LIKE 'round/%'",
    ],
  },
]

/** The upgrade number of a store that `crosspoint move` has not completed. */
export const movingUpgrade = 1_000_000

/** Several processes may call it at once. Rejects a store of a newer version. */
export const upgradeStorage = (db: Database, clock: Clock, list = upgrades) =>
  db.exclusively(async (run) => {
    await run(`CREATE TABLE IF NOT EXISTS storage_upgrades (
      number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
    const [row] = await run('SELECT max(number) AS number FROM storage_upgrades')
    const reached = Number(row?.number ?? 0)
    const known = list.at(-1)?.number ?? 0
    if (reached === movingUpgrade && known < reached)
      throw new Refusal(
        'this store is incomplete: run the same `crosspoint move` again, with the environment of the old store',
      )
    if (reached > known) {
      throw new Error(
        `the store is at upgrade ${reached}, this version supports ${known}: run a newer Crosspoint`,
      )
    }
    for (const upgrade of list.filter(({ number }) => number > reached)) {
      for (const statement of upgrade.statements(dialects[db.engine])) await run(statement)
      await run('INSERT INTO storage_upgrades (number, title, applied_at) VALUES ($1, $2, $3)', [
        upgrade.number,
        upgrade.title,
        clock.now(),
      ])
    }
  })

export interface StoreTables {
  names: readonly string[]
  /** Undefined if it is not a store. */
  upgrade: number | undefined
}

const upgradesTable = 'storage_upgrades'

export const standingOf = async (run: Run, names: readonly string[]): Promise<StoreTables> => {
  if (!names.includes(upgradesTable)) return { names, upgrade: undefined }
  const [row] = await run(`SELECT max(number) AS number FROM ${upgradesTable}`)
  return { names, upgrade: Number(row?.number ?? 0) }
}

export const countsOf = async (run: Run, names: readonly string[]): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const name of names) {
    const [row] = await run(`SELECT count(*) AS count FROM "${name}"`)
    counts[name] = Number(row?.count)
  }
  return counts
}

/** Whether a server or a move has started to set it up. */
export const isSetUp = async (run: Run, { upgrade }: StoreTables): Promise<boolean> =>
  upgrade === movingUpgrade ||
  (upgrade !== undefined &&
    (await run("SELECT id FROM records WHERE account_id = 'system' AND kind = 'server_key' LIMIT 1")).length >
      0)
