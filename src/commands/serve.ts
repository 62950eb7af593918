import { startServer } from '../compose.ts'
import { type Config, ConfigError, settingsTable } from '../config/config.ts'
import { configFromEnvironment, unknownInEnvironment } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog, describeError } from '../lib/log.ts'

const help = () =>
  [
    'Usage: crosspoint serve',
    '',
    'Runs the server in the foreground. Settings (environment):',
    '',
    ...settingsTable.map(
      ({ name, fallback, meaning }) =>
        `  ${name.padEnd(28)} ${meaning}${fallback ? ` (default ${fallback})` : ''}`,
    ),
    '',
  ].join('\n')

/** A misspelt setting does not keep the server from starting, but it is told. */
const strangers = () => unknownInEnvironment().map((name) => `${name} is not a setting of this server`)

/** The settings, or undefined after telling all that is wrong with them. */
const readSettings = (): Config | undefined => {
  try {
    return configFromEnvironment()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = [...error.mistakes, ...strangers()].map((mistake) => `  ${mistake}\n`)
    process.stderr.write(`crosspoint: the settings are wrong, nothing was started:\n${found.join('')}`)
    return undefined
  }
}

/** Resolves at the first request to end: a signal, or the launcher's death. */
const untilAskedToEnd = () =>
  new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
    process.on('disconnect', () => resolve())
  })

const urlOf = (protocol: string, host: string, port: number) =>
  `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`

const run = async (args: readonly string[]): Promise<number> => {
  if (args.includes('--help')) {
    process.stdout.write(help())
    return 0
  }
  const config = readSettings()
  if (!config) return 2
  // Everything this process writes is for its own user: store, keys, outbox.
  process.umask(0o077)
  const log = createLog(config.logLevel, systemClock, (line) => process.stderr.write(line))
  for (const stranger of strangers()) log.write('warn', stranger)
  const ended = untilAskedToEnd()
  try {
    const server = await startServer(config, { clock: systemClock, log })
    if (server.firstAdmin?.generatedPassword) {
      process.stdout.write(
        `First start: account ${config.masterAccount}, user ${server.firstAdmin.username}, password ${server.firstAdmin.generatedPassword}\nThis password is shown once and stored nowhere.\n`,
      )
    }
    process.stdout.write(`Crosspoint is ready at ${urlOf('http', config.host, server.port)}\n`)
    if (server.tlsPort !== undefined) {
      process.stdout.write(`HTTPS is served at ${urlOf('https', config.host, server.tlsPort)}\n`)
    }
    await ended
    await server.stop()
  } catch (error) {
    log.write('error', 'the server could not start', { error: describeError(error) })
    process.stderr.write(`crosspoint: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  } finally {
    if (process.connected) process.disconnect()
  }
  return 0
}

export const serve = { run }
