import { once } from 'node:events'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { datastoreUnreachable, failure } from '../lib/failure.ts'
import type { Value, WriterRegistry } from './db.ts'
import { maxYoungGenerationSizeMb, threadScript } from './worker-link.ts'

// The threads of a process that answer requests hand their writes to the one that writes, each through a port of its own:
// a seat.

interface PostedStatement {
  /** The place of its text in the batch's list. */
  text: number
  params: readonly Value[]
  /** The number of rows that it must touch; undefined: any. */
  rows?: number | undefined
}

export interface PostedWrite {
  statements: readonly PostedStatement[]
  /** Rows of the audit log, which get their places as they are added. */
  entries: readonly (readonly Value[])[]
  /** The cache keys that it makes stale; none where nobody else is told. */
  stale: readonly string[]
}

export interface Batch {
  /** Each text once: to look long texts up for each of many rows would take several microseconds a row. */
  texts: readonly string[]
  writes: readonly PostedWrite[]
}

/** What became of a write: done, the first statement that touched other rows than it had to, or an error. */
export type Outcome = 'done' | { broken: number } | { error: string }

/** That the seat is known, what became of a batch, or what others have made stale. */
export type FromWriter = { isSeated: true } | { outcomes: readonly Outcome[] } | { stale: readonly string[] }

// Of the numbers that all threads look at: how often the writing thread has committed and told others, and which one it is.
export const commitsAt = 0
const writersAt = 1

/** The thread that writes. It is started for the first seat, and anew for the first one after its death. */
export const createWriterThread = (file: string, processId: string, tellsKeys: boolean) => {
  const commits = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const numbers = new Int32Array(commits)
  let worker: Worker | undefined
  let isShared = false

  const start = () => {
    // Whoever has a seat at another one knows at once that it has none.
    Atomics.add(numbers, writersAt, 1)
    const started = new Worker(threadScript, {
      workerData: {
        file,
        processId,
        tellsKeys,
        commits,
        script: new URL('./sqlite-writer.ts', import.meta.url).href,
      },
      resourceLimits: { maxYoungGenerationSizeMb },
    })
    // The ports of its seats close, and whoever waits at them hears of it.
    const forget = () => {
      if (worker === started) worker = undefined
    }
    started.on('error', forget)
    started.on('exit', forget)
    // Whoever waits for a write keeps the process alive.
    started.unref()
    return started
  }

  const seating: WriterRegistry = {
    commits,
    processId,
    tellsKeys,
    isShared: () => isShared,
    seat() {
      worker ??= start()
      const { port1, port2 } = new MessageChannel()
      worker.postMessage({ port: port1 }, [port1])
      return port2
    },
  }

  return {
    seating,
    /** From now on others have seats. */
    share() {
      isShared = true
    },
    close: async () => void (await worker?.terminate()),
  }
}

interface SeatDeps {
  seating: WriterRegistry
  onStale(keys: readonly string[] | 'everything'): void
}

const assertOpen = () => {
  throw new Error('the thread that writes has ended')
}

/** The seat of a thread. It keeps the process alive only while a write is under way. */
export const createWriterClient = ({ seating, onStale }: SeatDeps) => {
  let underWay: PromiseWithResolvers<readonly Outcome[]> | undefined
  const numbers = new Int32Array(seating.commits)
  let seen = Atomics.load(numbers, commitsAt)
  let writer = Atomics.load(numbers, writersAt)
  let port: MessagePort | undefined
  let seated: Promise<MessagePort> | undefined
  let isClosed = false

  const settle = (message: FromWriter) => {
    if ('isSeated' in message) return
    if ('stale' in message) return onStale(message.stale)
    port?.unref()
    underWay?.resolve(message.outcomes)
  }

  const stand = (reason: unknown) => {
    port = undefined
    seated = undefined
    underWay?.reject(failure(datastoreUnreachable, {}, reason))
  }

  const sit = async () => {
    const found = await seating.seat()
    writer = Atomics.load(numbers, writersAt)
    found.on('message', settle)
    found.on('close', () => {
      if (port === found) stand(undefined)
    })
    // Until the writing thread knows of the seat it lays nothing there.
    await Promise.race([once(found, 'message'), once(found, 'close').then(assertOpen)])
    found.unref()
    seen = Atomics.load(numbers, commitsAt)
    port = found
    // What was committed before was told to nobody here.
    if (seating.isShared()) onStale('everything')
    return found
  }

  const take = () => {
    seated ??= sit().catch((error) => {
      seated = undefined
      throw failure(datastoreUnreachable, {}, error)
    })
    return seated
  }

  /** Whoever has no seat hears nothing: what was read before may have changed. */
  const standing = () => {
    if (!seating.isShared() || isClosed) return
    onStale('everything')
    take().catch(() => undefined)
  }

  return {
    take,

    /** What becomes of a batch that was put together behind `take`. Throws when it could not be sent. */
    call(batch: Batch): Promise<readonly Outcome[]> {
      if (!port) throw failure(datastoreUnreachable, {})
      port.postMessage(batch)
      port.ref()
      underWay = Promise.withResolvers()
      return underWay.promise
    },

    /** Hears at once what others have made stale by commits that anybody has been told of. */
    hear() {
      if (!port || Atomics.load(numbers, writersAt) !== writer) return standing()
      const now = Atomics.load(numbers, commitsAt)
      if (now === seen) return
      seen = now
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
        settle(next.message)
    },

    close() {
      isClosed = true
      port?.close()
      stand(undefined)
    },
  }
}
