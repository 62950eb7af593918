import type { Clock } from '../lib/clock.ts'
import type { Database, Row, Value } from './db.ts'
import { Refusal } from './saved-store.ts'
import { billingSchema } from './schema/billing.ts'
import { callsSchema } from './schema/calls.ts'
import { eventsSchema } from './schema/events.ts'
import { kazooSchema } from './schema/kazoo.ts'
import { numbersSchema } from './schema/numbers.ts'
import { recordsSchema } from './schema/records.ts'
import { workSchema } from './schema/work.ts'
import { type Dialect, dialects } from './sql-words.ts'

/** Runs one statement of an upgrade. */
export type Run = (sql: string, params?: readonly Value[]) => Promise<Row[]>

/** One numbered step of the store's structure. A released upgrade is never edited: write the next one. */
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
]

/** The number of the last upgrade of a store that `crosspoint move` has not filled yet. */
export const movingUpgrade = 1_000_000

/**
 * Brings the store to this version's structure; several processes may call it at once.
 * Refuses a store that a newer version has upgraded.
 */
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
        `the store is at upgrade ${reached}, this version knows ${known}: run a newer Crosspoint`,
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
