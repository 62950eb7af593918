import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Areas, createAreas } from './areas/index.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import { createKeyGranter, obtainServerKey } from './auth/key-handover.ts'
import { createKeyring } from './auth/keyring.ts'
import { createTokens } from './auth/tokens.ts'
import type { Config } from './config/config.ts'
import { type FirstAdmin, makeMaster, startAuthor } from './first-start.ts'
import type { Frame } from './http/exchange.ts'
import { pagesOf } from './http/pages.ts'
import { createRouter } from './http/router.ts'
import { createHandler, createPlainServer, drain, listen } from './http/server.ts'
import { createThrottle } from './http/throttle.ts'
import type { Clock } from './lib/clock.ts'
import { describeError, type Log } from './lib/log.ts'
import { createSettings } from './settings/settings.ts'
import type { Database } from './storage/db.ts'
import { openPostgres } from './storage/postgres.ts'
import { openSqlite } from './storage/sqlite.ts'
import { createStore, type Store } from './storage/store.ts'
import { upgradeStorage } from './storage/upgrades.ts'
import { version } from './version.ts'

export interface RunningServer {
  host: string
  port: number
  /** Set when this start made the master account. */
  firstAdmin: FirstAdmin | undefined
  /** The parts behind the listener, for whoever shares the process with it. */
  areas: Areas
  store: Store
  stop(): Promise<void>
}

interface World {
  clock: Clock
  log: Log
}

/** Lets servers on other machines join the store. */
const handOutKey = async (db: Database, store: Store, serverKey: Buffer, log: Log) => {
  const granter = createKeyGranter(store, serverKey)
  db.onStale((keys) => {
    granter.grantStale(keys).catch((error) => {
      log.write('error', 'a key request could not be answered', { error: describeError(error) })
    })
  })
  // Opens the ear of a PostgreSQL store, and answers who asked before anybody listened.
  await store.fence()
  await granter.grantWaiting()
}

/** Configuration in, running server out. Nothing stays open when the start fails. */
export const startServer = async (config: Config, world: World): Promise<RunningServer> => {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const db = config.databaseUrl
    ? openPostgres(config.databaseUrl)
    : openSqlite(join(config.dataDir, 'crosspoint.db'))
  try {
    return await assemble(config, world, db)
  } catch (error) {
    await db.close()
    throw error
  }
}

/** The only place that knows all parts. */
const assemble = async (config: Config, { clock, log }: World, db: Database): Promise<RunningServer> => {
  await upgradeStorage(db, clock)
  const store = createStore(db, clock)
  const node = `crosspoint@${hostname()}`
  const settings = createSettings(store.records, node)
  const serverKey = await obtainServerKey(store, config.dataDir)
  const keyring = createKeyring(serverKey)
  const tokens = createTokens(store, keyring, settings, clock)
  await tokens.prepare(startAuthor)
  const areas = createAreas({ store, settings, keyring, tokens })
  const firstAdmin = await makeMaster(areas, store, config)
  await handOutKey(db, store, serverKey, log)
  const frame: Frame = {
    router: createRouter(areas.routes),
    pages: pagesOf(store),
    authenticate: createAuthenticate(store, tokens, settings),
    isUnrestricted: async () => true,
    throttle: createThrottle(settings, clock),
    settings,
    store,
    clock,
    log,
    node,
    version,
  }
  const server = createPlainServer(frame, createHandler(frame))
  const port = await listen(server, config.host, config.port)
  return {
    host: config.host,
    port,
    firstAdmin,
    areas,
    store,
    async stop() {
      await drain(server)
      await db.close()
    },
  }
}
