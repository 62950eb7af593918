import { setTimeout as sleep } from 'node:timers/promises'
import { recoveryLink } from '../areas/accounts/sign-in/rules.ts'
import { openDatabase, type RunningServer, startServer } from '../compose.ts'
import { type Config, ConfigError, settingsTable } from '../config/config.ts'
import { configFromEnvironment, isAtDesktop, unknownInEnvironment } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { createLineWriter } from '../lib/line-writer.ts'
import { createLog, describeError, type Log } from '../lib/log.ts'
import type { HttpThreads } from '../threads/http-threads.ts'
import { threadsByCores } from '../threads/shared-state.ts'
import { boundOldGeneration } from './heap-bounds.ts'
import { checkForMissingStore } from './missing-store.ts'
import { openSignIn, removeSignIn } from './sign-in-page.ts'

const help = () =>
  [
    'Usage: crosspoint serve [--new]',
    '',
    'Runs the server in the foreground.',
    '',
    '  --new                        start an empty store although the data directory has the key of an older one',
    '',
    'Settings (environment):',
    '',
    ...settingsTable.map(
      ({ name, fallback, meaning }) =>
        `  ${name.padEnd(28)} ${meaning}${fallback ? ` (default ${fallback})` : ''}`,
    ),
    '',
  ].join('\n')

/** A misspelt setting is reported, and does not prevent the start. */
const strangers = () => unknownInEnvironment().map((name) => `${name} is not a setting of this server`)

/** Undefined after printing all mistakes. */
const readSettings = (): Config | undefined => {
  try {
    return configFromEnvironment()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = [...error.mistakes, ...strangers()].map((mistake) => `  ${mistake}\n`)
    process.stderr.write(`crosspoint: invalid configuration, the server did not start:\n${found.join('')}`)
    return undefined
  }
}

/** `disconnect`: the launcher has died. */
type Ending = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'disconnect'

// A signal to a process group arrives twice, directly and through the launcher.
const echoMilliseconds = 1000

/** `again`: a signal later than the echo of the first one. */
const hearEnding = () => {
  const first = Promise.withResolvers<Ending>()
  const again = Promise.withResolvers<void>()
  let heardAt: number | undefined
  const hear = (ending: Ending) => {
    const now = systemClock.now()
    if (heardAt !== undefined && (now - heardAt > echoMilliseconds || ending !== 'SIGTERM')) again.resolve()
    heardAt ??= now
    first.resolve(ending)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => hear(signal))
  process.on('disconnect', () => hear('disconnect'))
  return { first: first.promise, again: again.promise }
}

/** After SIGTERM load balancers need some seconds to stop sending. Other signals, or a second one, end the server at once. */
const drainTime = async (ending: Ending, seconds: number, again: Promise<void>) => {
  if (ending !== 'SIGTERM' || seconds === 0) return
  const waiting = new AbortController()
  const options = { signal: waiting.signal }
  await Promise.race([sleep(seconds * 1000, undefined, options).catch(() => undefined), again])
  waiting.abort()
}

const urlOf = (protocol: string, host: string, port: number) =>
  `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`

// Addresses to reach a server that listens on all interfaces.
const reachableHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const signInLink = ({ host, port, firstAdmin }: RunningServer) => {
  const resetId = firstAdmin?.generated?.resetId
  return resetId && recoveryLink(`${urlOf('http', reachableHosts[host] ?? host, port)}/`, resetId)
}

/** The cause often names the host. */
const reasonOf = (error: unknown) => {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message
}

/** Further threads on SQLite if several are configured. */
const startThreads = async (config: Config, log: Log) => {
  const wanted = config.databaseUrl === undefined ? (config.httpThreads ?? threadsByCores()) : 1
  if (wanted === 1)
    return { server: await startServer(config, { clock: systemClock, log }), threads: undefined }
  // Loaded only for several threads.
  const [{ createSharedThreadState: createCompany }, { startHttpThreads }] = await Promise.all([
    import('../threads/shared-state.ts'),
    import('../threads/http-threads.ts'),
  ])
  const company = createCompany(wanted)
  const db = await openDatabase(config)
  let threads: HttpThreads | undefined
  // Metrics of an ended thread are left out.
  const figuresOfOthers = async () => (await threads?.figures().catch(() => undefined)) ?? []
  const server = await startServer(config, { clock: systemClock, log }, { db, company, figuresOfOthers })
  try {
    if (!db.seating) throw new Error('the store has one thread')
    threads = await startHttpThreads({ config, server, company, seating: db.seating })
  } catch (error) {
    await server.stop()
    throw error
  }
  return { server, threads }
}

const run = async (args: readonly string[]): Promise<number> => {
  if (args.includes('--help')) {
    process.stdout.write(help())
    return 0
  }
  const unknown = args.find((arg) => arg !== '--new')
  if (unknown !== undefined) {
    process.stderr.write(`crosspoint: unknown argument ${unknown}\n${help()}`)
    return 2
  }
  const config = readSettings()
  if (!config) return 2
  // Files of the server are private.
  process.umask(0o077)
  const lines = createLineWriter((text) => process.stderr.write(text))
  process.on('exit', lines.flush)
  const log = createLog(config, systemClock, lines.add)
  for (const stranger of strangers()) log.write('warn', stranger)
  const { first, again } = hearEnding()
  try {
    const unused = await checkForMissingStore(config, { isNew: args.includes('--new') })
    if (unused !== undefined) log.write('warn', unused)
    const { server, threads } = await startThreads(config, log)
    boundOldGeneration()
    removeSignIn(config.dataDir)
    const link = signInLink(server)
    const { firstAdmin } = server
    if (firstAdmin?.generated) {
      process.stdout.write(
        `First start: account ${config.masterAccount}, user ${firstAdmin.username}, password ${firstAdmin.generated.password}\nThis password is shown only once.\n`,
      )
    }
    if (link) process.stdout.write(`Sign in: ${link} (once, within 30 minutes)\n`)
    process.stdout.write(`Crosspoint is ready at ${urlOf('http', config.host, server.port)}\n`)
    if (server.tlsPort !== undefined) {
      process.stdout.write(`HTTPS is served at ${urlOf('https', config.host, server.tlsPort)}\n`)
    }
    const isSeen = process.stdout.isTTY && isAtDesktop()
    if (link && isSeen) await openSignIn(link, config.dataDir)
    const ending = await first
    if (link) removeSignIn(config.dataDir)
    server.retire()
    await threads?.retire()
    await drainTime(ending, config.drainSeconds, again)
    await server.stop(threads?.stop)
  } catch (error) {
    log.write('error', 'the server could not start', { error: describeError(error) })
    process.stderr.write(`crosspoint: ${reasonOf(error)}\n`)
    return 1
  } finally {
    if (process.connected) process.disconnect()
  }
  return 0
}

export const serve = { run }
