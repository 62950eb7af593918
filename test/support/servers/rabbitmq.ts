// A real RabbitMQ, where one is installed (Debian: rabbitmq-server), with its files in a separate place.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from 'rabbitmq-client'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'

// The scripts on the path require root or their own user. This one runs as the current user.
const programs = ['/usr/lib/rabbitmq/bin/rabbitmq-server', '/usr/local/sbin/rabbitmq-server']

/** Where RabbitMQ is installed; undefined: it is not. */
export const rabbitmqProgram = programs.find((path) => existsSync(path))

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

/** Connections to a port of this machine that are established, as the kernel lists them. */
const connectionsAt = async (port: number) => {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n')
  const target = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return lines.filter((line) => {
    const [, , remote = '', state] = line.trim().split(/\s+/)
    return remote.endsWith(target) && state === '01'
  }).length
}

export interface ReceivedMessage {
  routingKey: string
  messageId: string | undefined
  durable: boolean
  headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: whatever was published
  body: any
}

export type RabbitMq = Awaited<ReturnType<typeof startRabbitmq>>

export const startRabbitmq = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-rabbitmq-'))
  const [port, distributionPort] = [await freePort(), await freePort()]
  const url = `amqp://guest:guest@127.0.0.1:${port}`
  const env = {
    ...process.env,
    HOME: folder,
    RABBITMQ_NODENAME: `crosspoint${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
  }
  let child: ChildProcess | undefined
  let said = ''

  const start = async () => {
    child = spawn(rabbitmqProgram ?? 'rabbitmq-server', [], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    child.stdout?.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-10_000)
    })
    child.stderr?.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-10_000)
    })
    try {
      await eventually(
        () => isListening(port),
        (isThere) => isThere,
      )
    } catch {
      throw new Error(`RabbitMQ does not listen:\n${said}`)
    }
  }

  /** The script and the virtual machine that it has started. */
  const end = async (signal: NodeJS.Signals) => {
    const ended = child
    child = undefined
    if (ended?.pid === undefined) return
    const exited = once(ended, 'exit')
    process.kill(-ended.pid, signal)
    await exited
    await eventually(
      () => isListening(port),
      (isThere) => !isThere,
    )
  }

  const kill = () => end('SIGKILL')

  await start()

  return {
    url,
    start,

    /** An orderly stop: received messages are on its disk. */
    stop: () => end('SIGTERM'),

    /** As a machine that loses its power would. */
    kill,

    /** How many are connected now. */
    connections: () => connectionsAt(port),

    /** A durable queue of everything that goes to an exchange, and a connection that reads from it. */
    async listen(exchange: string, queue: string, routingKey = '#') {
      const connection = new Connection({ url, retryLow: 100, retryHigh: 500 })
      connection.on('error', () => undefined)
      const received: ReceivedMessage[] = []
      const consumer = connection.createConsumer(
        {
          queue,
          exchanges: [{ exchange, type: 'topic', durable: true }],
          queueOptions: { durable: true },
          queueBindings: [{ exchange, routingKey }],
        },
        async ({ routingKey: key, messageId, durable, headers = {}, body }) => {
          received.push({ routingKey: key, messageId, durable: durable === true, headers, body })
        },
      )
      consumer.on('error', () => undefined)
      await new Promise<void>((resolve) => consumer.once('ready', () => resolve()))
      return {
        received,
        async close() {
          await consumer.close()
          connection.unsafeDestroy()
        },
      }
    },

    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
