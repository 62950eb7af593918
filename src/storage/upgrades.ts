import type { Clock } from '../lib/clock.ts'
import type { Database } from './db.ts'
import { records } from './upgrades/0001-records.ts'
import { accountSearch } from './upgrades/0002-account-search.ts'
import { jobs } from './upgrades/0004-jobs.ts'
import { quantities } from './upgrades/0011-quantities.ts'

export interface Dialect {
  /** A text column that is compared and ordered by its bytes, alike in both engines. */
  key: string
  /** For tables of small rows: kept in the order of the primary key alone, where the engine can. */
  compact: string
}

/** One numbered step of the store's structure. A landed upgrade is never edited: write the next one. */
export interface Upgrade {
  number: number
  title: string
  statements(dialect: Dialect): string[]
}

export const upgrades: readonly Upgrade[] = [records, accountSearch, jobs, quantities]

const dialects: Record<Database['engine'], Dialect> = {
  sqlite: { key: 'TEXT', compact: 'WITHOUT ROWID' },
  postgres: { key: 'TEXT COLLATE "C"', compact: '' },
}

/**
 * Brings the store to this version's structure; several processes may call it at once.
 * Refuses a store that a newer version has upgraded.
 */
export const upgradeStorage = (db: Database, clock: Clock, list = upgrades) =>
  db.exclusively(async (run) => {
    await run(`CREATE TABLE IF NOT EXISTS storage_upgrades (
      number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
    const [row] = await run('SELECT max(number) AS number FROM storage_upgrades')
    const reached = (row?.number as number | null) ?? 0
    const known = list.at(-1)?.number ?? 0
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
