import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Areas, createAreas } from './areas/index.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import { createKeyGranter, obtainServerKey } from './auth/key-handover.ts'
import { createKeyring } from './auth/keyring.ts'
import { createTokens } from './auth/tokens.ts'
import type { Config } from './config/config.ts'
import { createDns } from './dns/dns.ts'
import { type FirstAdmin, makeMaster, startAuthor } from './first-start.ts'
import type { Frame } from './http/exchange.ts'
import { createIdempotency } from './http/idempotency.ts'
import { freeswitchPage, freeswitchPrefix } from './http/ingest.ts'
import { createValidate } from './http/judge-data.ts'
import { openApiText } from './http/openapi.ts'
import { pagesOf } from './http/pages.ts'
import { createRouter } from './http/router.ts'
import { createHandler, createPlainServer, drain, listen } from './http/server.ts'
import { createThrottle } from './http/throttle.ts'
import { createTlsListener, type TlsListener } from './http/tls.ts'
import { inspectTls, type TlsSettings } from './http/tls-files.ts'
import { createAfterwards } from './jobs/afterwards.ts'
import { createLeases } from './jobs/leases.ts'
import { createRounds, type Rounds } from './jobs/rounds.ts'
import type { Clock } from './lib/clock.ts'
import { describeError, type Log } from './lib/log.ts'
import { carryBySmtp, carryToFolder } from './mail/carriers.ts'
import { createMail, waitingKey } from './mail/mail.ts'
import { createPost, postRounds } from './mail/post.ts'
import { createOutgoing } from './outgoing/client.ts'
import { createSettings, settingsKind } from './settings/settings.ts'
import { systemScope } from './storage/change-set.ts'
import { cacheKey, type Database } from './storage/db.ts'
import { openPostgres } from './storage/postgres.ts'
import { openSqlite } from './storage/sqlite.ts'
import { createStore, type Gate, type Store } from './storage/store.ts'
import { upgradeStorage } from './storage/upgrades.ts'
import { noMediaSwitch } from './switch/media-switch.ts'
import { version } from './version.ts'

export interface RunningServer {
  host: string
  port: number
  /** Where HTTPS is served at the moment, if it is. */
  readonly tlsPort: number | undefined
  /** Set when this start made the master account. */
  firstAdmin: FirstAdmin | undefined
  /** The parts behind the listener, for whoever shares the process with it. */
  areas: Areas
  store: Store
  rounds: Rounds
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

/** The HTTPS listener follows the settings, whichever process changes them. */
const followTls = (db: Database, tls: TlsListener) => {
  const key = cacheKey(systemScope, settingsKind, 'crossbar')
  db.onStale((keys) => {
    if (keys === 'everything' || keys.includes(key)) void tls.follow()
  })
  return tls.follow()
}

/** Letters go at once, whichever process they were written in. */
const followMail = (db: Database, rounds: Rounds) =>
  db.onStale((keys) => {
    if (keys !== 'everything' && keys.includes(waitingKey)) rounds.nudge('mail')
  })

export const openDatabase = ({ databaseUrl, dataDir }: Config): Database => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  return databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
}

/** Configuration in, running server out. Nothing stays open when the start fails. */
export const startServer = async (
  config: Config,
  world: World,
  db: Database = openDatabase(config),
): Promise<RunningServer> => {
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
  const gates: Gate[] = []
  const store = createStore(db, clock, gates)
  const node = `crosspoint@${hostname()}`
  const settings = createSettings(store.records, node)
  const serverKey = await obtainServerKey(store, config.dataDir)
  const keyring = createKeyring(serverKey)
  const tokens = createTokens(store, keyring, settings, clock)
  await tokens.prepare(startAuthor)
  const dns = createDns({
    servers: config.dnsServers,
    allowedPrivateHosts: async () => (await settings.of('crossbar')).allowed_private_hosts,
  })
  const afterwards = createAfterwards(log)
  const leases = createLeases(store, clock, log)
  const rounds = createRounds({ leases, store, clock, log })
  const mail = createMail({ store, keyring, nudge: () => rounds.nudge('mail') })
  const areas = createAreas({
    store,
    settings,
    keyring,
    tokens,
    node,
    validate: createValidate(settings),
    tlsProblems: async (section) =>
      (await inspectTls(section as unknown as TlsSettings, config.dataDir)).problems ?? {},
    mail,
    dns,
    outgoing: createOutgoing(log),
    afterwards,
    leases,
    rounds,
    log,
    mediaSwitch: noMediaSwitch,
  })
  gates.push(areas.serviceArea.consent)
  const firstAdmin = await makeMaster(areas, store, config)
  await areas.freeswitch.prepare(startAuthor)
  await handOutKey(db, store, serverKey, log)
  const idempotency = createIdempotency({ store, keyring, settings, clock, log })
  rounds.add(idempotency.round)
  const frame: Frame = {
    router: createRouter(areas.routes),
    pages: pagesOf({
      store,
      openApi: () => openApiText(areas.routes, version),
      below: { [freeswitchPrefix]: freeswitchPage({ ingest: areas.freeswitch, store, log }) },
    }),
    authenticate: createAuthenticate({ store, tokens, settings, admitsPassword: areas.login.admitsPassword }),
    isUnrestricted: areas.restrictions.isUnrestricted,
    throttle: createThrottle(settings, clock),
    idempotency,
    settings,
    store,
    clock,
    log,
    node,
    version,
  }
  const handler = createHandler(frame)
  const server = createPlainServer(frame, handler)
  const port = await listen(server, config.host, config.port)
  const tls = createTlsListener({ frame, handler, settings, host: config.host, dataDir: config.dataDir, log })
  await followTls(db, tls)
  const { smtpUrl, dataDir } = config
  const carrier = smtpUrl ? carryBySmtp(smtpUrl) : carryToFolder(join(dataDir, 'outbox'))
  const post = createPost({ store, keyring, settings, senders: areas.senders, carrier, log })
  for (const round of [...areas.rounds, ...postRounds(post)]) rounds.add(round)
  rounds.start()
  followMail(db, rounds)
  return {
    host: config.host,
    port,
    get tlsPort() {
      return tls.port()
    },
    firstAdmin,
    areas,
    store,
    rounds,
    async stop() {
      await Promise.all([drain(server), tls.stop()])
      await idempotency.stop()
      await rounds.stop()
      await areas.tasks.stop()
      await afterwards.settle()
      await leases.stop()
      post.close()
      await db.close()
    },
  }
}
