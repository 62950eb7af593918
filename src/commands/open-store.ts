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

// Nobody asks a command for the same record again and again.
const cacheBytes = 16_000_000

/** The store that the settings name, for commands that do their work beside a running server or without one. */
export const openStore = async (config: Config, clock: Clock): Promise<OpenStore> => {
  await checkForMissingStore(config)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const db = config.databaseUrl
    ? openPostgres(config.databaseUrl, { connections: config.databaseConnections })
    : openSqlite(join(config.dataDir, 'crosspoint.db'), { tellsKeys: true })
  try {
    await upgradeStorage(db, clock)
    const store = createStore(db, clock, cacheBytes)
    // Without it secrets stay sealed, of which commands have no need.
    const serverKey = readServerKey(config.dataDir)
    if (serverKey) store.sealing.use(createKeyring(serverKey))
    // Opens the ear of a PostgreSQL store.
    await store.fence()
    const warning = await createImportState(store).warning()
    if (warning !== undefined) process.stderr.write(`crosspoint: ${warning}\n`)
    return { db, store, close: () => db.close() }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Runs a command on the store that the environment names. */
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
