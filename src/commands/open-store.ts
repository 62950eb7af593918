import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createImportState } from '../areas/system/imports/store.ts'
import { createKeyring, readServerKey } from '../auth/keyring.ts'
import type { Config } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { Database } from '../storage/db.ts'
import { openPostgres } from '../storage/postgres.ts'
import { openSqlite } from '../storage/sqlite.ts'
import { createStore, type Store } from '../storage/store.ts'
import { upgradeStorage } from '../storage/upgrades.ts'
import { checkForMissingStore } from './missing-store.ts'

interface OpenStore {
  db: Database
  store: Store
  close(): Promise<void>
}

// Commands rarely read a record twice.
const cacheBytes = 16_000_000

/** Opens the configured store, with or without a running server. */
export const openStore = async (config: Config, clock: Clock): Promise<OpenStore> => {
  await checkForMissingStore(config)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const db = config.databaseUrl
    ? openPostgres(config.databaseUrl, { connections: config.databaseConnections })
    : openSqlite(join(config.dataDir, 'crosspoint.db'), { tellsKeys: true })
  try {
    await upgradeStorage(db, clock)
    const store = createStore(db, clock, cacheBytes)
    // Without the key secrets stay sealed; commands do not need them.
    const serverKey = readServerKey(config.dataDir)
    if (serverKey) store.sealing.use(createKeyring(serverKey))
    // Starts listening to a PostgreSQL store.
    await store.fence()
    const warning = await createImportState(store).warning()
    if (warning !== undefined) process.stderr.write(`crosspoint: ${warning}\n`)
    return { db, store, close: () => db.close() }
  } catch (error) {
    await db.close()
    throw error
  }
}

export const onStore = async <T>(work: (open: OpenStore & { config: Config }) => Promise<T>): Promise<T> => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const open = await openStore(config, systemClock)
  try {
    return await work({ ...open, config })
  } finally {
    await open.close()
  }
}
