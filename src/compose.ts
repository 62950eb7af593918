import { mkdirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quotaSettings } from './areas/accounts/quotas/settings.ts'
import type { Area } from './areas/area.ts'
import { assemble, declarationsOf } from './areas/assemble.ts'
import { type Areas, areas as everything } from './areas/index.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import type { KeyLayer } from './auth/credentials.ts'
import { createPasswordHasher } from './auth/deriving/deriver.ts'
import { accountKind, masterClaim, startAuthor } from './auth/identity.ts'
import { createKeyGranter, obtainServerKey } from './auth/key-handover.ts'
import { createKeyring, keyedMark } from './auth/keyring.ts'
import { createTokens } from './auth/tokens.ts'
import type { Config } from './config/config.ts'
import { createDns } from './dns/dns.ts'
import { createFeed, type Feed } from './events/feed.ts'
import { createRefusals } from './events/refusals.ts'
import { createSequencer } from './events/sequencer.ts'
import { type FirstAdmin, isPasswordIgnored, makeMaster } from './first-start.ts'
import { createActiveRequests, type ServerContext, type ShutdownState } from './http/exchange.ts'
import { createIdempotency } from './http/request/idempotency.ts'
import { createRouter } from './http/request/router.ts'
import { createValidate } from './http/request/validate-data.ts'
import { createRequestObserver } from './http/request-observer.ts'
import { createResponseCache } from './http/response/response-cache.ts'
import type { Route } from './http/route.ts'
import { createReadQueue } from './http/throttle/fair-queue.ts'
import { createInFlight } from './http/throttle/in-flight.ts'
import { createThrottle } from './http/throttle/throttle.ts'
import { bucketColumns } from './http/throttle/token-buckets.ts'
import { createCounts, createPlaces, openCountRows, type Places } from './http/transport/connection-limits.ts'
import { metricsPage, pagesOf } from './http/transport/pages.ts'
import { createReadiness } from './http/transport/readiness.ts'
import { assertFree, createPlainServer, drain, listen } from './http/transport/server.ts'
import { createSite } from './http/transport/site.ts'
import { createTlsListener, type TlsListener } from './http/transport/tls.ts'
import { inspectTls, tlsFilesOf } from './http/transport/tls-files.ts'
import { createUpgrades } from './http/transport/upgrades.ts'
import { createAfterwards } from './jobs/afterwards.ts'
import { createLeases } from './jobs/leases.ts'
import { createQueue } from './jobs/queue.ts'
import { retentionJobs } from './jobs/retention.sql.ts'
import { createScheduler, type Scheduler } from './jobs/scheduler.ts'
import type { Clock } from './lib/clock.ts'
import { describeError, type Log } from './lib/log.ts'
import { createMetrics, type Figures, figuresText, type Metrics } from './lib/metrics.ts'
import { openSharedRows } from './lib/shared-rows.ts'
import { createMailDelivery, mailSchedule } from './mail/delivery.ts'
import { createMail } from './mail/mail.ts'
import { createNotices } from './mail/notices.ts'
import { folderTransport, smtpTransport } from './mail/transports.ts'
import { openObjectStore } from './object-store/open.ts'
import { createCalls } from './outgoing/calls.ts'
import { createOutgoing } from './outgoing/client.ts'
import { crossbarSettings } from './settings/documents.ts'
import { createSettings, settingsKind } from './settings/settings.ts'
import { systemScope } from './storage/change-set.ts'
import { cacheKey, type Database } from './storage/db.ts'
import { workIn } from './storage/job-draft.ts'
import { readMove } from './storage/moving/marks.ts'
import { usualCacheBytes } from './storage/records.ts'
import { createSignInBuckets } from './storage/sign-in-buckets.ts'
import { createStore, measureStore, type Store } from './storage/store.ts'
import { upgradeStorage } from './storage/upgrades.ts'
import { createMediaSwitch } from './switch/kamailio/kamailio.ts'
import { processMetricsText } from './telemetry/process-metrics.ts'
import type { FirstThread, SharedThreadState } from './threads/shared-state.ts'
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
  routes: readonly Route[]
  store: Store
  feed: Feed
  rounds: Scheduler
  /** From now on `/readyz` is red and every answer ends its connection, so that clients go elsewhere. */
  retire(): void
  /** What this thread tells at `/metrics`, and what all of the process tell. */
  figures(): Promise<Figures>
  metricsText(): Promise<string>
  /** `others` ends the threads that need this one: while requests finish, and before the store is closed. */
  stop(others?: () => Promise<void>): Promise<void>
}

interface World {
  clock: Clock
  log: Log
}

/** The areas of the server, and further ones. */
type List = readonly [...typeof everything, ...Area[]]

/** What the server is made of, where that is not what the configuration says. */
interface Parts {
  list?: List
  db?: Database
  /**
   * Of a server whose own clock tells of the past: the time of day, by which it holds leases beside other processes. It
   * is reached by plain HTTP alone, and does nothing by itself.
   */
  timeOfDay?: Clock
  /** Where several threads of the process answer requests. */
  company?: SharedThreadState | undefined
  /** Of a further thread: the first one does everything but to answer requests. */
  first?: FirstThread | undefined
  /** What further threads tell at `/metrics`. */
  figuresOfOthers?: () => Promise<readonly Figures[]>
  /** Bytes of cached lists, where these are not the usual ones: 1 switches the cache off. */
  responseCacheBytes?: number | undefined
  /** What sign-in keys cost. Every server of a store must agree about it. */
  layers?: readonly KeyLayer[]
  /** Rounds are done when a request makes work for them, and not because their time has come. */
  onlyNudgedRounds?: boolean
}

/** What belongs to nobody is the master account's: settings, rates, keys. */
const locateAccounts = (store: Store) => {
  const find = (accountId: string) => store.records.find(accountId, accountKind, accountId)
  let masterId: string | undefined

  // Whichever process replaces the master account, the one before it is gone.
  const master = async () => {
    if (masterId === undefined || !(await find(masterId)))
      masterId = (await store.records.claimant(masterClaim))?.accountId
    return masterId
  }

  store.locate(async (located) => {
    const accountId = located === systemScope ? await master() : located
    const account = accountId === undefined ? undefined : await find(accountId)
    return account && { accountId: account.id, tree: account.hidden.tree }
  })
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

/** The listeners follow the settings, whichever process changes them. */
const followListeners = (db: Database, tls: TlsListener, places: Places, log: Log) => {
  const key = cacheKey(systemScope, settingsKind, 'crossbar')
  const follow = () => Promise.all([tls.follow(), places.follow()])
  db.onStale((keys) => {
    if (keys !== 'everything' && !keys.includes(key)) return
    follow().catch((error) => {
      log.write('warn', 'the settings of connections could not be read', { error: describeError(error) })
    })
  })
  return follow()
}

/** Errands are carried out at once, whichever process they were committed in. */
const followWork = (db: Database, rounds: Scheduler) =>
  db.onStale((keys) => {
    if (keys !== 'everything') for (const kind of workIn(keys)) rounds.nudge(kind)
  })

/** Loads what sends spans only where they are wanted. */
const openRecorder = async ({ otlpEndpoint: endpoint, serviceName }: Config, node: string, log: Log) => {
  if (endpoint === undefined) return undefined
  const { openSpanExport } = await import('./telemetry/spans.ts')
  return openSpanExport({ endpoint, serviceName, version, node, log })
}

/** How much is open at the moment. */
const measureOpen = (metrics: Metrics, { life, places, upgrades }: ServerContext, thread: number) => {
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help, isOfThread: true }, read)
  gauge('crosspoint_connections_open', 'Connections of clients.', places.open)
  metrics.gauge(
    {
      name: 'crosspoint_thread_connections_open',
      help: 'The same of each thread that answers requests.',
      labels: ['thread'],
      isOfThread: true,
    },
    () => [{ labels: [String(thread)], value: places.open() }],
  )
  gauge('crosspoint_event_streams_open', 'Answers that go on, as streams of events do.', () => life.live.size)
  gauge('crosspoint_websockets_open', 'Clients that have switched to WebSocket.', upgrades.openCount)
}

/** Bytes that the disk of a folder has left for this process. */
const freeBytesOf = (folder: string) => async () => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

// What those who have gone have asked for ends within this time: it reads and writes, and waits for nobody outside.
const lastMilliseconds = 2000

/** Where the console, the reference and the guides are once they are built. */
const builtSite = fileURLToPath(new URL('../console/dist', import.meta.url))

const ignoredPassword =
  'CROSSPOINT_ADMIN_PASSWORD is ignored: it is not the one of the first start, which made the admin. `crosspoint account admin --reset USERNAME` gives a new one'

const moveWarning = async (store: Store) => {
  const move = await readMove(store)
  return (
    move &&
    `the store is being moved to ${move.to}, or was moved there: this server only reads. \`crosspoint move --cancel\` lets it write again`
  )
}

/** Loads one engine: the driver of PostgreSQL takes some megabytes. */
export const openDatabase = async (config: Config): Promise<Database> => {
  const { databaseUrl, databaseConnections: connections, dataDir } = config
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl) return (await import('./storage/postgres.ts')).openPostgres(databaseUrl, { connections })
  return (await import('./storage/sqlite.ts')).openSqlite(join(dataDir, 'crosspoint.db'))
}

/** Configuration in, running server out. Nothing stays open when the start fails. */
export const startServer = async (
  config: Config,
  world: World,
  { list = everything, db: given, ...further }: Parts = {},
): Promise<RunningServer> => {
  const db = given ?? (await openDatabase(config))
  try {
    return await putTogether(config, world, { ...further, db, list })
  } catch (error) {
    await db.close()
    throw error
  }
}

/** The only place that knows all parts. */
const putTogether = async (
  config: Config,
  { clock, log }: World,
  {
    db,
    list,
    timeOfDay,
    company,
    first,
    figuresOfOthers = async () => [],
    responseCacheBytes,
    layers,
    onlyNudgedRounds,
  }: Parts & Required<Pick<Parts, 'db' | 'list'>>,
): Promise<RunningServer> => {
  if (!first) await upgradeStorage(db, clock)
  const metrics = createMetrics()
  const metricsText =
    first?.metricsText ??
    (async () =>
      (await figuresText([await metrics.figures(), ...(await figuresOfOthers())])) +
      (await processMetricsText()))
  const store = createStore(db, clock, usualCacheBytes / (company?.threads ?? 1))
  measureStore(metrics, db, store)
  locateAccounts(store)
  const node = `crosspoint@${hostname()}`
  const recorder = await openRecorder(config, node, log)
  const declared = declarationsOf(list)
  const settings = createSettings(store.records, node)
  const serverKey = await obtainServerKey(store, config.dataDir)
  const keyring = createKeyring(serverKey)
  store.sealing.use(keyring)
  const tokens = createTokens(store, keyring, settings)
  await tokens.prepare(startAuthor)
  // The embedded store has one server, whose memory is enough where it has one thread.
  const isOneOfMany = db.engine === 'postgres'
  const shared = isOneOfMany || company ? createSignInBuckets(store) : undefined
  const deriver = createPasswordHasher({ settings, clock, metrics, shared, layers, company })
  const allowedPrivateHosts = async () => (await settings.of(crossbarSettings)).allowed_private_hosts
  const calls = createCalls({ metrics, recorder })
  const dns = createDns({ servers: config.dnsServers, allowedPrivateHosts, calls })
  const outgoing = createOutgoing({ log, calls, allowedPrivateHosts })
  const afterwards = createAfterwards(log)
  const leases = createLeases(store, timeOfDay ?? clock, log)
  const rounds = createScheduler({ leases, store, clock, log, nudgeElsewhere: first?.nudge })
  const queue = createQueue({ store, log, metrics, recorder })
  const feed = createFeed({ store, db, log })
  const sequencer = db.placesAppends ? undefined : createSequencer({ store, db, leases, log })
  const refusals = createRefusals({ store, afterwards })
  const mail = createMail({ store, notices: createNotices(declared.notices), keyring })
  const assembled = assemble(list, {
    declared,
    store,
    settings,
    keyring,
    tokens,
    deriver,
    node,
    validate: createValidate(settings),
    tlsProblems: async (section) => (await inspectTls(tlsFilesOf(section), config.dataDir)).problems ?? {},
    mail,
    dns,
    outgoing,
    calls,
    callArchive: openObjectStore(config.callArchive, calls),
    afterwards,
    leases,
    rounds,
    queue,
    feed,
    refusals,
    log,
    metrics,
    mediaSwitch: createMediaSwitch({ settings, outgoing }),
  })
  const { offers: areas, routes } = assembled
  const passwordMark = (password: string) => keyedMark(serverKey, password)
  const begin = async () => {
    const firstAdmin = await makeMaster(areas, store, config, passwordMark)
    if (!firstAdmin && (await isPasswordIgnored(store, config, passwordMark)))
      log.write('warn', ignoredPassword)
    await assembled.prepare(startAuthor)
    await handOutKey(db, store, serverKey, log)
    return firstAdmin
  }
  const firstAdmin = first ? undefined : await begin()
  const idempotency = createIdempotency({ store, keyring, settings, clock, log })
  rounds.add(idempotency.round)
  const life: ShutdownState = { isEnding: false, isOver: false, live: new Set() }
  const counts = createCounts(company && openCountRows(company.places))
  const places = createPlaces({ settings, clock, log, counts })
  const upgrades = createUpgrades(assembled.upgrades, counts)
  const frame: ServerContext = {
    life,
    underWay: createActiveRequests(),
    places,
    upgrades,
    router: createRouter(routes),
    pages: pagesOf({
      store,
      readiness: createReadiness({
        store,
        life,
        freeBytes: config.databaseUrl === undefined ? freeBytesOf(config.dataDir) : undefined,
      }),
      metrics: metricsPage({
        text: metricsText,
        networks: async () => (await settings.of(crossbarSettings)).metrics_networks,
      }),
      openApi: async () =>
        (await import('./http/openapi/openapi.ts')).openApiText({
          routes,
          tags: declared.describes,
          version,
        }),
      posted: assembled.posted,
      site: createSite(builtSite),
      log,
    }),
    authenticate: createAuthenticate({
      store,
      tokens,
      deriver,
      settings,
      apiKeys: areas.apiKeys,
      admitsPassword: areas.signIn.admitsPassword,
      scopesOf: areas.signIn.scopesOf,
    }),
    noteKeyUse: areas.apiKeys.noteUse,
    isUnrestricted: areas.tokenRestrictions.isUnrestricted,
    resellerOf: areas.accounts.resellerOf,
    numberClasses: areas.phoneNumbers.planning.named,
    departedAccount: areas.audit.departed,
    settleServices: areas.services.settle,
    throttle: createThrottle({
      settings,
      clock,
      metrics,
      shared: isOneOfMany ? shared : undefined,
      rows: company && openSharedRows(company.buckets, bucketColumns),
    }),
    turns: createReadQueue(company?.threads),
    inFlight: createInFlight(company?.threads),
    responseCache: createResponseCache(store.generationOf, metrics, responseCacheBytes),
    refusals,
    idempotency,
    settings,
    maxRecordValues: async () => (await settings.of(quotaSettings)).record_values,
    store,
    clock,
    log,
    witness: createRequestObserver({ metrics, log, logsAccess: config.logsAccess }),
    recorder,
    node,
    version,
  }
  measureOpen(metrics, frame, first?.threadNumber ?? 1)
  const server = createPlainServer(frame)
  const isShared = company !== undefined
  if (isShared && !first) await assertFree(config)
  const port = await listen(server, { host: config.host, port: config.port, isShared })
  const tls = createTlsListener({
    frame,
    settings,
    host: config.host,
    plainPort: port,
    isShared,
    isFirst: !first,
    dataDir: config.dataDir,
    log,
  })
  if (!timeOfDay) await followListeners(db, tls, places, log)
  const { smtpUrl, dataDir } = config
  const transport = smtpUrl
    ? smtpTransport(smtpUrl, calls)
    : folderTransport(join(dataDir, 'outbox'), {
        clock,
        daysKept: async () => (await settings.of(crossbarSettings)).mail_outbox_days,
      })
  const mailDelivery = createMailDelivery({
    store,
    keyring,
    settings,
    senders: areas.whitelabel.senders,
    transport,
    documentOf: areas.payments.documentOf,
    log,
    metrics,
  })
  for (const round of [...assembled.rounds, ...mailSchedule(mailDelivery, queue)]) rounds.add(round)
  for (const round of retentionJobs(store, settings, shared)) rounds.add(round)
  rounds.add(queue.tidying(async () => (await settings.of(crossbarSettings)).work_outcome_days))
  rounds.hold(async () => (await areas.imports.isUnderWay()) || (await readMove(store)) !== undefined)
  const warnings = first ? [] : [await areas.imports.warning(), await moveWarning(store)]
  for (const warning of warnings) if (warning !== undefined) log.write('warn', warning)
  if (!timeOfDay && !first) {
    rounds.start(onlyNudgedRounds)
    followWork(db, rounds)
  }
  return {
    host: config.host,
    port,
    get tlsPort() {
      return tls.port()
    },
    firstAdmin,
    areas,
    routes,
    store,
    feed,
    rounds,
    figures: metrics.figures,
    metricsText,
    retire() {
      life.isEnding = true
    },
    async stop(others?: () => Promise<void>) {
      life.isEnding = true
      life.isOver = true
      for (const end of life.live) end()
      await Promise.all([drain(server), tls.stop(), upgrades.stop(), others?.()])
      deriver.turnAway()
      await frame.underWay.over(lastMilliseconds)
      await idempotency.stop()
      await rounds.stop()
      await assembled.stop()
      await afterwards.settle()
      await sequencer?.stop()
      await leases.stop()
      await deriver.stop()
      mailDelivery.close()
      outgoing.close()
      await recorder?.stop()
      await db.close()
    },
  }
}
