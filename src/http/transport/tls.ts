import { createServer, type Server } from 'node:https'
import { messageOf } from '../../lib/error-facts.ts'
import { describeError, type Log } from '../../lib/log.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import type { ServerContext } from '../exchange.ts'
import { drain, equip, listen, listenerOptions } from './server.ts'
import { type Credentials, inspectTls, stampOf, type TlsSettings } from './tls-files.ts'

interface Deps {
  frame: ServerContext
  settings: Settings
  host: string
  /** Where plain HTTP is served. */
  plainPort: number
  /** Several threads of the process listen; one of them is the first. */
  isShared: boolean
  isFirst: boolean
  dataDir: string
  log: Log
}

export type TlsListener = ReturnType<typeof createTlsListener>

interface Serving {
  server: Server
  /** What was asked for: 0 takes a free one. */
  wantedPort: number
  port: number
  digest: string
}

// Files are looked at this often: replacing them by rename escapes a watch on the file itself.
const pollMilliseconds = 2_000

const contextOf = ({ digest: _digest, ...credentials }: Credentials) => ({
  ...credentials,
  minVersion: 'TLSv1.2' as const,
})

const reasonsOf = (problems: Record<string, Record<string, { message: string; cause?: unknown }>>) =>
  Object.entries(problems).flatMap(([key, rules]) =>
    Object.values(rules).map(({ message, cause }) => ({ setting: key, message, file: cause })),
  )

/** Serves HTTPS beside plain HTTP while `use_ssl` says so. Whatever is wrong with it, plain HTTP stays as it is. */
export const createTlsListener = (tools: Deps) => {
  const { frame, settings, host, plainPort, isShared, isFirst, dataDir, log } = tools
  const closing = new Set<Promise<void>>()
  let serving: Serving | undefined
  let complaint = ''
  let seen = ''
  let poll: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  let isWaiting = false
  let isStopped = false

  /** Says once what is wrong, not at every look. */
  const complain = (message: string, fields: Record<string, unknown>) => {
    const text = JSON.stringify([message, fields])
    if (text === complaint) return
    complaint = text
    log.write('error', message, fields)
  }

  const settle = () => {
    complaint = ''
  }

  /** Takes no new connection from now on; what is in flight is waited for only when the process stops. */
  const close = () => {
    if (!serving) return
    const { server, port } = serving
    serving = undefined
    const ending = drain(server).then(() => {
      closing.delete(ending)
      log.write('info', 'HTTPS is no longer served', { port })
    })
    closing.add(ending)
  }

  const open = async (wanted: TlsSettings, credentials: Credentials) => {
    const server = equip(
      createServer({ ...contextOf(credentials), ...listenerOptions, handshakeTimeout: 10_000 }),
      frame,
    )
    try {
      // The system would let both listen where several threads do, and divide connections among them.
      if (wanted.ssl_port === plainPort) throw new Error('it is the one of plain HTTP')
      const port = await listen(server, { host, port: wanted.ssl_port, isShared })
      // The old port goes only when the new one answers.
      close()
      serving = { server, wantedPort: wanted.ssl_port, port, digest: credentials.digest }
      settle()
      log.write('info', 'HTTPS is served', { port })
    } catch (error) {
      complain('HTTPS cannot be served on this port', {
        port: wanted.ssl_port,
        reason: messageOf(error),
      })
    }
  }

  const renew = (current: Serving, credentials: Credentials) => {
    current.server.setSecureContext(contextOf(credentials))
    current.digest = credentials.digest
    settle()
    log.write('info', 'the TLS certificate was reloaded', { port: current.port })
  }

  const serve = async (wanted: TlsSettings) => {
    const { credentials, problems } = await inspectTls(wanted, dataDir)
    if (!credentials) {
      const kept = serving ? 'HTTPS goes on with the old certificate' : 'HTTPS is not served'
      return complain(`the TLS settings cannot be used: ${kept}`, { problems: reasonsOf(problems) })
    }
    if (serving?.wantedPort !== wanted.ssl_port) return open(wanted, credentials)
    if (serving.digest !== credentials.digest) renew(serving, credentials)
  }

  const wantedState = (wanted: TlsSettings, stamp: string) =>
    JSON.stringify([
      wanted.ssl_port,
      wanted.ssl_cert,
      wanted.ssl_key,
      wanted.ssl_ca_cert,
      wanted.ssl_password,
      stamp,
    ])

  const look = async () => {
    const wanted = await settings.of(crossbarSettings)
    watch(wanted.use_ssl)
    // A free port is one thread's alone.
    const isOthers = wanted.ssl_port === 0 && !isFirst
    if (!wanted.use_ssl || isOthers) {
      seen = ''
      settle()
      return close()
    }
    const state = wantedState(wanted, await stampOf(wanted, dataDir))
    const isPortTaken = serving?.wantedPort !== wanted.ssl_port
    if (state === seen && !isPortTaken) return
    seen = state
    await serve(wanted)
  }

  const watch = (isOn: boolean) => {
    if (isOn && !poll && !isStopped) poll = setInterval(() => void follow(), pollMilliseconds).unref()
    if (isOn) return
    clearInterval(poll)
    poll = undefined
  }

  const lookSafely = async () => {
    isWaiting = false
    if (isStopped) return
    try {
      await look()
    } catch (error) {
      complain('the TLS settings could not be followed', { error: describeError(error) })
    }
  }

  // One look at a time; those asked for meanwhile are one further look.
  const follow = () => {
    if (!isWaiting) {
      isWaiting = true
      running = running.then(lookSafely)
    }
    return running
  }

  return {
    /** Undefined while TLS is off. */
    port: () => serving?.port,
    /** Adapts the listener to the settings and files. */
    follow,
    async stop() {
      isStopped = true
      watch(false)
      await running
      close()
      await Promise.all(closing)
    },
  }
}
