import { createServer, type Server } from 'node:https'
import { messageOf } from '../../lib/error-facts.ts'
import type { Problems } from '../../lib/failure.ts'
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
  /** 0 takes a free port. */
  wantedPort: number
  port: number
  digest: string
}

// A watch on the files would miss a replacement by rename.
const pollMilliseconds = 2_000

const contextOf = ({ digest: _digest, ...credentials }: Credentials) => ({
  ...credentials,
  minVersion: 'TLSv1.2' as const,
})

const reasonsOf = (problems: Problems) =>
  Object.entries(problems).flatMap(([key, rules]) =>
    Object.values(rules).map(({ message, cause }) => ({ setting: key, message, file: cause })),
  )

/** Logs an error once, until `settle` is called. */
const createComplaints = (log: Log) => {
  let latest = ''
  return {
    complain(message: string, fields: Record<string, unknown>) {
      const text = JSON.stringify([message, fields])
      if (text !== latest) log.write('error', message, fields)
      latest = text
    },
    settle() {
      latest = ''
    },
  }
}

type Complaints = ReturnType<typeof createComplaints>

const createPort = (
  { frame, host, plainPort, isShared, dataDir, log }: Deps,
  { complain, settle }: Complaints,
) => {
  const closing = new Set<Promise<void>>()
  let serving: Serving | undefined

  /** Takes no new connections; only the end of the process waits for the open ones. */
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

  const open = async ({ ssl_port: wantedPort }: TlsSettings, credentials: Credentials) => {
    const options = { ...contextOf(credentials), ...listenerOptions, handshakeTimeout: 10_000 }
    const server = equip(createServer(options), frame)
    try {
      // With several threads the system would let both listen, and divide the connections between them.
      if (wantedPort === plainPort) throw new Error('plain HTTP uses this port')
      const port = await listen(server, { host, port: wantedPort, isShared })
      // The old port closes only when the new one answers.
      close()
      serving = { server, wantedPort, port, digest: credentials.digest }
      settle()
      log.write('info', 'HTTPS is served', { port })
    } catch (error) {
      complain('HTTPS cannot be served on this port', { port: wantedPort, reason: messageOf(error) })
    }
  }

  const renew = (current: Serving, credentials: Credentials) => {
    current.server.setSecureContext(contextOf(credentials))
    current.digest = credentials.digest
    settle()
    log.write('info', 'the TLS certificate was reloaded', { port: current.port })
  }

  return {
    serving: () => serving,
    close,
    closed: () => Promise.all(closing),
    async serve(wanted: TlsSettings) {
      const { credentials, problems } = await inspectTls(wanted, dataDir)
      if (!credentials) {
        const kept = serving ? 'HTTPS continues with the old certificate' : 'HTTPS is not served'
        return complain(`the TLS settings cannot be used: ${kept}`, { problems: reasonsOf(problems) })
      }
      if (serving?.wantedPort !== wanted.ssl_port) return open(wanted, credentials)
      if (serving.digest !== credentials.digest) renew(serving, credentials)
    },
  }
}

const stateOf = async (wanted: TlsSettings, dataDir: string) => {
  const { ssl_port, ssl_cert, ssl_key, ssl_ca_cert, ssl_password } = wanted
  return JSON.stringify([
    ...[ssl_port, ssl_cert, ssl_key, ssl_ca_cert, ssl_password],
    await stampOf(wanted, dataDir),
  ])
}

/** Serves HTTPS next to plain HTTP while `use_ssl` is set. Its failures do not affect plain HTTP. */
export const createTlsListener = (deps: Deps) => {
  const { settings, isFirst, dataDir, log } = deps
  const complaints = createComplaints(log)
  const port = createPort(deps, complaints)
  let seen = ''
  let poll: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  let isWaiting = false
  let isStopped = false

  const look = async () => {
    const wanted = await settings.of(crossbarSettings)
    watch(wanted.use_ssl)
    // Only one thread can have a free port.
    const isOthers = wanted.ssl_port === 0 && !isFirst
    if (!wanted.use_ssl || isOthers) {
      seen = ''
      complaints.settle()
      return port.close()
    }
    const state = await stateOf(wanted, dataDir)
    if (state === seen && port.serving()?.wantedPort === wanted.ssl_port) return
    seen = state
    await port.serve(wanted)
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
      complaints.complain('the TLS settings could not be applied', { error: describeError(error) })
    }
  }

  // One look at a time. Requests for a look during one share the next.
  const follow = () => {
    if (!isWaiting) {
      isWaiting = true
      running = running.then(lookSafely)
    }
    return running
  }

  return {
    /** Undefined while TLS is off. */
    port: () => port.serving()?.port,
    /** Adapts the listener to the settings and files. */
    follow,
    async stop() {
      isStopped = true
      watch(false)
      await running
      port.close()
      await port.closed()
    },
  }
}
