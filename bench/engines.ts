import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import type { Place } from './server.ts'

/**
 * Measures on an empty store of each engine, or of the requested one (`sqlite`, `postgres`), and removes it.
 * PostgreSQL is a separate server with durable commits.
 */
export const onEngines = async (
  wanted: string | undefined,
  measure: (engine: 'SQLite' | 'PostgreSQL', place: Place) => Promise<void>,
): Promise<void> => {
  const isWanted = (engine: string) => !wanted || wanted === engine
  const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
  try {
    if (isWanted('sqlite')) await measure('SQLite', { dataDir: join(root, 'sqlite'), databaseUrl: undefined })
    if (isWanted('postgres')) {
      const postgres = await startPostgres({ durable: true })
      const database = await createDatabase(postgres.url)
      try {
        await measure('PostgreSQL', { dataDir: join(root, 'postgres'), databaseUrl: database.url })
      } finally {
        await postgres.stop()
      }
    }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
