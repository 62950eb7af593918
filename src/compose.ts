import { mkdirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quotaSettings } from './areas/accounts/quotas/settings.ts'
import type { Area } from './areas/area.ts'
import { assemble, declarationsOf } from './areas/assemble.ts'
import { areas as everything } from './areas/index.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import type { KeyLayer } from './auth/credentials.ts'
import { createPasswordHasher } from './auth/deriving/deriver.ts'
import { accountKind, masterClaim, startAuthor } from './auth/identity.ts'
import { createKeyGranter, obtainServerKey } from './auth/key-handover.ts'
import { createKeyring, keyedMark } from './auth/keyring.ts'
import { createTokens } from './auth/tokens.ts'
import type { Config } from './config/config.ts'
import { createDns } from './dns/dns.ts'
import { createFeed } from './events/feed.ts'
import { createRefusals } from './events/refusals.ts'
import { createSequencer } from './events/sequencer.ts'
import { isPasswordIgnored, makeMaster } from './first-start.ts'
import { createActiveRequests, type ServerContext, type ShutdownState } from './http/exchange.ts'
import { createIdempotency } from './http/request/idempotency.ts'
import { createRouter } from './http/request/router.ts'
import { createValidate } from './http/request/validate-data.ts'
import { createRequestObserver } from './http/request-observer.ts'
import { createResponseCache } from './http/response/response-cache.ts'
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
import { createScheduler, type ScheduledJob, type Scheduler } from './jobs/scheduler.ts'
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

export type RunningServer = Awaited<ReturnType<typeof startServer>>

interface World {
  clock: Clock
  log: Log
}

/** The areas of the server, and further ones. */
type List = readonly [...typeof everything, ...Area[]]

/** Parts that the configuration does not decide. */
interface Parts {
  list?: List
  db?: Database
  /**
   * For a server whose clock is in the past: the time of day, for leases between processes. Such a server has
   * only plain HTTP and no scheduled jobs.
   */
  timeOfDay?: Clock
  /** Where several threads of the process answer requests. */
  company?: SharedThreadState | undefined
  /** For a further thread, which only answers requests. */
  first?: FirstThread | undefined
  /** Metrics of further threads. */
  figuresOfOthers?: () => Promise<readonly Figures[]>
  /** Bytes of cached lists; 1 disables the cache. */
  responseCacheBytes?: number | undefined
  /** The cost of sign-in keys: the same on every server of a store. */
  layers?: readonly KeyLayer[]
  /** Scheduled jobs only run when a request wakes them. */
  onlyWokenJobs?: boolean
}

type GivenParts = Parts & Required<Pick<Parts, 'db' | 'list'>>

/** Records of the system (settings, rates, keys) are in the audit log of the master account. */
const locateAccounts = (store: Store) => {
  const find = (accountId: string) => store.records.find(accountId, accountKind, accountId)
  let masterId: string | undefined

  // Another process may replace the master account: then the old one is missing.
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
  // Starts to listen for notifications of PostgreSQL. Earlier requests are granted afterwards.
  await store.fence()
  await granter.grantWaiting()
}

/** Applies changes of the settings by any process. */
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

/** Runs jobs at once, also those that other processes committed. */
const followWork = (db: Database, scheduler: Scheduler) =>
  db.onStale((keys) => {
    if (keys !== 'everything') for (const kind of workIn(keys)) scheduler.wake(kind)
  })

const openRecorder = async ({ otlpEndpoint: endpoint, serviceName }: Config, node: string, log: Log) => {
  if (endpoint === undefined) return undefined
  const { openSpanExport } = await import('./telemetry/spans.ts')
  return openSpanExport({ endpoint, serviceName, version, node, log })
}

const measureOpen = (metrics: Metrics, { life, places, upgrades }: ServerContext, thread: number) => {
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help, isOfThread: true }, read)
  gauge('crosspoint_connections_open', 'Open client connections.', places.open)
  metrics.gauge(
    {
      name: 'crosspoint_thread_connections_open',
      help: 'Open client connections of each request thread.',
      labels: ['thread'],
      isOfThread: true,
    },
    () => [{ labels: [String(thread)], value: places.open() }],
  )
  gauge(
    'crosspoint_event_streams_open',
    'Open streaming responses, such as event streams.',
    () => life.live.size,
  )
  gauge('crosspoint_websockets_open', 'Open WebSocket connections.', upgrades.openCount)
}

const freeBytesOf = (folder: string) => async () => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

// For requests whose clients have left.
const lastMilliseconds = 2000

const builtSite = fileURLToPath(new URL('../console/dist', import.meta.url))

const ignoredPassword =
  'CROSSPOINT_ADMIN_PASSWORD is ignored: the admin got another password at the first start. To set a new one, run `crosspoint account admin --reset USERNAME`'

const moveWarning = async (store: Store) => {
  const move = await readMove(store)
  return (
    move &&
    `the store is being moved to ${move.to}, or was moved there: this server only reads. To enable writes again, run \`crosspoint move --cancel\``
  )
}

/** The driver of PostgreSQL takes some megabytes: only one engine is loaded. */
export const openDatabase = async (config: Config): Promise<Database> => {
  const { databaseUrl, databaseConnections: connections, dataDir } = config
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl) return (await import('./storage/postgres.ts')).openPostgres(databaseUrl, { connections })
  return (await import('./storage/sqlite.ts')).openSqlite(join(dataDir, 'crosspoint.db'))
}

/** If the start fails, nothing stays open. */
export const startServer = async (
  config: Config,
  world: World,
  { list = everything, db: given, ...further }: Parts = {},
) => {
  const db = given ?? (await openDatabase(config))
  try {
    return await putTogether(config, world, { ...further, db, list })
  } catch (error) {
    await db.close()
    throw error
  }
}

type Base = Awaited<ReturnType<typeof openBase>>

/** The store with its settings and keys. */
const openBase = async (
  config: Config,
  { clock, log }: World,
  { db, company, first, figuresOfOthers = async () => [] }: GivenParts,
) => {
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
  const settings = createSettings(store.records, node)
  const serverKey = await obtainServerKey(store, config.dataDir)
  const keyring = createKeyring(serverKey)
  store.sealing.use(keyring)
  const tokens = createTokens(store, keyring, settings)
  await tokens.prepare(startAuthor)
  const crossbar = () => settings.of(crossbarSettings)
  return {
    config,
    clock,
    log,
    metrics,
    metricsText,
    store,
    node,
    recorder,
    settings,
    serverKey,
    keyring,
    tokens,
    crossbar,
  }
}

/** Sign-in, calls to other systems, background work and events. */
const createServices = (base: Base, { db, timeOfDay, company, first, layers }: GivenParts) => {
  const { config, clock, log, store, crossbar } = base
  // One server with one thread needs only its own memory.
  const shared = db.engine === 'postgres' || company ? createSignInBuckets(store) : undefined
  const allowedPrivateHosts = async () => (await crossbar()).allowed_private_hosts
  const calls = createCalls(base)
  const afterwards = createAfterwards(log)
  const leases = createLeases(store, timeOfDay ?? clock, log)
  return {
    shared,
    deriver: createPasswordHasher({ ...base, shared, layers, company }),
    calls,
    dns: createDns({ servers: config.dnsServers, allowedPrivateHosts, calls }),
    outgoing: createOutgoing({ log, calls, allowedPrivateHosts }),
    afterwards,
    leases,
    scheduler: createScheduler({ ...base, leases, wakeElsewhere: first?.wake }),
    queue: createQueue(base),
    feed: createFeed({ store, db, log }),
    sequencer: db.placesAppends ? undefined : createSequencer({ store, db, leases, log }),
    refusals: createRefusals({ store, afterwards }),
  }
}

type Services = ReturnType<typeof createServices>

const createAreas = (base: Base, services: Services, list: List) => {
  const { config, log, metrics, store, node, settings, keyring, tokens } = base
  const declared = declarationsOf(list)
  const assembled = assemble(list, {
    ...services,
    declared,
    store,
    settings,
    keyring,
    tokens,
    node,
    validate: createValidate(settings),
    tlsProblems: async (section) => (await inspectTls(tlsFilesOf(section), config.dataDir)).problems ?? {},
    mail: createMail({ store, notices: createNotices(declared.notices), keyring }),
    callArchive: openObjectStore(config.callArchive, services.calls),
    log,
    metrics,
    mediaSwitch: createMediaSwitch({ settings, outgoing: services.outgoing }),
  })
  return { ...assembled, areas: assembled.offers, declared }
}

type Assembled = ReturnType<typeof createAreas>

/** The first start creates the master account. */
const begin = async (
  { config, log, store, serverKey }: Base,
  { areas, prepare }: Assembled,
  db: Database,
) => {
  const passwordMark = (password: string) => keyedMark(serverKey, password)
  const firstAdmin = await makeMaster(areas, store, config, passwordMark)
  if (!firstAdmin && (await isPasswordIgnored(store, config, passwordMark)))
    log.write('warn', ignoredPassword)
  await prepare(startAuthor)
  await handOutKey(db, store, serverKey, log)
  return firstAdmin
}

/** Paths outside of `/v2`. */
const createPages = (base: Base, { routes, posted, declared }: Assembled, life: ShutdownState) => {
  const { config, log, store, metricsText, crossbar } = base
  const freeBytes = config.databaseUrl === undefined ? freeBytesOf(config.dataDir) : undefined
  return pagesOf({
    store,
    readiness: createReadiness({ store, life, freeBytes }),
    metrics: metricsPage({ text: metricsText, networks: async () => (await crossbar()).metrics_networks }),
    openApi: async () =>
      (await import('./http/openapi/openapi.ts')).openApiText({ routes, tags: declared.describes, version }),
    posted,
    site: createSite(builtSite),
    log,
  })
}

const createContext = (base: Base, services: Services, assembled: Assembled, parts: GivenParts) => {
  const { config, clock, log, metrics, store, node, recorder, settings } = base
  const { areas } = assembled
  const { db, company, responseCacheBytes } = parts
  const life: ShutdownState = { isEnding: false, isOver: false, live: new Set() }
  const counts = createCounts(company && openCountRows(company.places))
  const context: ServerContext = {
    life,
    underWay: createActiveRequests(),
    places: createPlaces({ ...base, counts }),
    upgrades: createUpgrades(assembled.upgrades, counts),
    router: createRouter(assembled.routes),
    pages: createPages(base, assembled, life),
    authenticate: createAuthenticate({
      ...base,
      deriver: services.deriver,
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
      ...base,
      shared: db.engine === 'postgres' ? services.shared : undefined,
      rows: company && openSharedRows(company.buckets, bucketColumns),
    }),
    turns: createReadQueue(company?.threads),
    inFlight: createInFlight(company?.threads),
    responseCache: createResponseCache(store.generationOf, metrics, responseCacheBytes),
    refusals: services.refusals,
    idempotency: createIdempotency(base),
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
  measureOpen(metrics, context, parts.first?.threadNumber ?? 1)
  return context
}

const openMailDelivery = (base: Base, { calls }: Services, { areas }: Assembled) => {
  const { config, clock, crossbar } = base
  const daysKept = async () => (await crossbar()).mail_outbox_days
  const transport = config.smtpUrl
    ? smtpTransport(config.smtpUrl, calls)
    : folderTransport(join(config.dataDir, 'outbox'), { clock, daysKept })
  const { senders } = areas.whitelabel
  return createMailDelivery({ ...base, senders, transport, documentOf: areas.payments.documentOf })
}

const openListeners = async (
  base: Base,
  frame: ServerContext,
  { db, timeOfDay, company, first }: GivenParts,
) => {
  const { config, settings, log } = base
  const { host, dataDir } = config
  const server = createPlainServer(frame)
  const isShared = company !== undefined
  if (isShared && !first) await assertFree(config)
  const port = await listen(server, { host, port: config.port, isShared })
  const tls = createTlsListener({
    frame,
    settings,
    host,
    plainPort: port,
    isShared,
    isFirst: !first,
    dataDir,
    log,
  })
  if (!timeOfDay) await followListeners(db, tls, frame.places, log)
  return { server, port, tls }
}

const scheduleJobs = (
  base: Base,
  services: Services,
  assembled: Assembled,
  jobs: readonly ScheduledJob[],
) => {
  const { store, settings, crossbar } = base
  const { scheduler, queue, shared } = services
  for (const job of [...jobs, ...retentionJobs(store, settings, shared)]) scheduler.add(job)
  scheduler.add(queue.tidying(async () => (await crossbar()).work_outcome_days))
  scheduler.hold(
    async () => (await assembled.areas.imports.isUnderWay()) || (await readMove(store)) !== undefined,
  )
}

/** The only place that knows all parts. */
const putTogether = async (config: Config, world: World, parts: GivenParts) => {
  const { db, timeOfDay, first } = parts
  const base = await openBase(config, world, parts)
  const { log, store, metrics, metricsText, recorder } = base
  const services = createServices(base, parts)
  const { scheduler, feed } = services
  const assembled = createAreas(base, services, parts.list)
  const { areas, routes } = assembled
  const firstAdmin = first ? undefined : await begin(base, assembled, db)
  const frame = createContext(base, services, assembled, parts)
  const { life, upgrades, idempotency } = frame
  const { server, port, tls } = await openListeners(base, frame, parts)
  const mailDelivery = openMailDelivery(base, services, assembled)
  const mailJobs = mailSchedule(mailDelivery, services.queue)
  scheduleJobs(base, services, assembled, [idempotency.deletion, ...assembled.scheduledJobs, ...mailJobs])
  const warnings = first ? [] : [await areas.imports.warning(), await moveWarning(store)]
  for (const warning of warnings) if (warning !== undefined) log.write('warn', warning)
  if (!timeOfDay && !first) {
    scheduler.start(parts.onlyWokenJobs)
    followWork(db, scheduler)
  }
  return {
    host: config.host,
    port,
    /** Of HTTPS, while it is served. */
    get tlsPort() {
      return tls.port()
    },
    /** Set if this start created the master account. */
    firstAdmin,
    areas,
    routes,
    store,
    feed,
    scheduler,
    /** Metrics of this thread, and of the whole process. */
    figures: metrics.figures,
    metricsText,
    /** `/readyz` becomes red and every response ends its connection, so that clients connect to another server. */
    retire() {
      life.isEnding = true
    },
    /** `others` ends the other threads: while requests finish, and before the store is closed. */
    async stop(others?: () => Promise<void>) {
      life.isEnding = true
      life.isOver = true
      for (const end of life.live) end()
      await Promise.all([drain(server), tls.stop(), upgrades.stop(), others?.()])
      services.deriver.turnAway()
      await frame.underWay.over(lastMilliseconds)
      await idempotency.stop()
      await scheduler.stop()
      await assembled.stop()
      await services.afterwards.settle()
      await services.sequencer?.stop()
      await services.leases.stop()
      await services.deriver.stop()
      mailDelivery.close()
      services.outgoing.close()
      await recorder?.stop()
      await db.close()
    },
  }
}
