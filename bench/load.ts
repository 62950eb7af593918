// Runs in a child process: as many requests as a few keep-alive connections can carry, one at a time on each.
// It has to cost less than the server, so requests are ready-made bytes and of an answer only its length is read.
import { connect, type Socket } from 'node:net'
import { createHistogram, performance } from 'node:perf_hooks'
import { createKeyDraw } from './key-draw.ts'
import { serveParent } from './parent.ts'

export interface LoadJob {
  port: number
  connections: number
  warmUpSeconds: number
  seconds: number
  /** A request is `before` + a key + `after`; of several beginnings, which only go with a count, each in its turn. */
  before: string | readonly string[]
  after: string
  /** Drawn at random from a list, taken from one in its order, or counted up from a number (ten digits). */
  keys: readonly string[] | { inOrder: readonly string[] } | { from: number }
}

export interface LoadResult {
  perSecond: number
  /** During the warm-up too. */
  answers: number
  /** Different keys among the requests. */
  distinctKeys: number
  /** Anything but 2xx. */
  failures: number
  firstFailure: string | undefined
  p50Ms: number
  p99Ms: number
  /** Processor time of this process as a part of one core: near 1 it was the load that was slow. */
  generatorLoad: number
}

interface Connection {
  socket: Socket
  sentAt: number
  /** Bytes of the answer that are still to come; undefined while its head is incomplete. */
  missing: number | undefined
  head: string
}

const contentLength = /\r\ncontent-length: (\d+)/i
const receiveBytes = 256 * 1024

const createRequests = ({ before, after, keys }: LoadJob) => {
  const befores = [before].flat()
  if ('from' in keys) {
    let next = keys.from
    const take = () => {
      const key = String(next).padStart(10, '0')
      next += 1
      return `${befores[next % befores.length]}${key}${after}`
    }
    return { take, distinct: () => next - keys.from }
  }
  if ('inOrder' in keys) {
    const { inOrder } = keys
    let taken = 0
    const take = () => {
      const key = inOrder[taken % inOrder.length]
      taken += 1
      return `${befores[0]}${key}${after}`
    }
    return { take, distinct: () => Math.min(taken, inOrder.length) }
  }
  const ready = keys.map((key) => Buffer.from(befores[0] + key + after, 'latin1'))
  const draw = createKeyDraw(keys.length)
  return { take: () => ready[draw.next()] as Buffer, distinct: draw.distinct }
}

const runLoad = (job: LoadJob) =>
  new Promise<LoadResult>((resolve, reject) => {
    const requests = createRequests(job)
    const latencies = createHistogram()
    const connections: Connection[] = []
    let answers = 0
    let measured = 0
    let failures = 0
    let firstFailure: string | undefined
    let measuring = false
    let ending = false
    let begunAt = 0
    let processor = process.cpuUsage()

    const send = (connection: Connection) => {
      connection.missing = undefined
      connection.head = ''
      connection.sentAt = performance.now()
      connection.socket.write(requests.take() as string, 'latin1')
    }

    const finished = (connection: Connection) => {
      if (ending) return
      answers += 1
      if (measuring) {
        measured += 1
        latencies.record(Math.max(1, Math.round((performance.now() - connection.sentAt) * 1000)))
      }
      send(connection)
    }

    const judgeHead = (head: string, body: string) => {
      if (head.charCodeAt(9) === 0x32) return
      failures += 1
      firstFailure ??= `${head.split('\r\n', 1)[0]} ${body.slice(0, 600)}`
    }

    const receive = (connection: Connection, size: number, buffer: Buffer) => {
      if (connection.missing !== undefined) {
        connection.missing -= size
        if (connection.missing === 0) finished(connection)
        return
      }
      connection.head += buffer.toString('latin1', 0, size)
      const end = connection.head.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = connection.head.slice(0, end)
      judgeHead(head, connection.head.slice(end + 4))
      connection.missing = Number(contentLength.exec(head)?.[1]) - (connection.head.length - end - 4)
      if (connection.missing === 0) finished(connection)
    }

    const open = () => {
      const buffer = Buffer.allocUnsafe(receiveBytes)
      const callback = (size: number) => {
        receive(connection, size, buffer)
        return true
      }
      const socket = connect({
        port: job.port,
        host: '127.0.0.1',
        noDelay: true,
        onread: { buffer, callback },
      })
      const connection: Connection = { socket, sentAt: 0, missing: undefined, head: '' }
      socket.on('connect', () => send(connection))
      socket.on('error', (error) => ending || reject(error))
      socket.on('close', () => ending || reject(new Error('the server closed a connection')))
      connections.push(connection)
    }

    const begin = () => {
      measuring = true
      processor = process.cpuUsage()
      begunAt = performance.now()
    }

    const end = () => {
      const seconds = (performance.now() - begunAt) / 1000
      const { user, system } = process.cpuUsage(processor)
      ending = true
      for (const { socket } of connections) socket.destroy()
      resolve({
        perSecond: measured / seconds,
        answers,
        distinctKeys: requests.distinct(),
        failures,
        firstFailure,
        p50Ms: latencies.percentile(50) / 1000,
        p99Ms: latencies.percentile(99) / 1000,
        generatorLoad: (user + system) / 1e6 / seconds,
      })
    }

    for (let count = 0; count < job.connections; count += 1) open()
    setTimeout(begin, job.warmUpSeconds * 1000)
    setTimeout(end, (job.warmUpSeconds + job.seconds) * 1000)
  })

serveParent(runLoad)
