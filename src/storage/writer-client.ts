import { once } from 'node:events'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { datastoreUnreachable, failure } from '../lib/failure.ts'
import type { Value, WriterRegistry } from './db.ts'
import { maxYoungGenerationSizeMb, threadScript } from './worker-link.ts'

// Threads send writes to the writing thread, each through its own port.

interface PostedStatement {
  /** Index in the texts of the batch. */
  text: number
  params: readonly Value[]
  /** Expected rows; undefined for any. */
  rows?: number | undefined
}

export interface PostedWrite {
  statements: readonly PostedStatement[]
  /** Rows of the audit log. */
  entries: readonly (readonly Value[])[]
  /** Empty if no other thread needs them. */
  stale: readonly string[]
}

export interface Batch {
  /** Each text once: a look-up for each row takes several microseconds. */
  texts: readonly string[]
  writes: readonly PostedWrite[]
}

/** `broken`: the first statement that touched unexpected rows. */
export type WriteOutcome = 'done' | { broken: number } | { error: string }

export type FromWriter =
  | { isSeated: true }
  | { outcomes: readonly WriteOutcome[] }
  | { stale: readonly string[] }

// Indexes in shared memory: the number of commits, and the number of the writing thread.
export const commitsAt = 0
const writersAt = 1

/** Starts with the first client, and again after its death. */
export const createWriterThread = (file: string, processId: string, tellsKeys: boolean) => {
  const commits = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const numbers = new Int32Array(commits)
  let worker: Worker | undefined
  let isShared = false

  const start = () => {
    // Clients of an earlier thread notice at once.
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
    // Its ports close, and their clients fail.
    const forget = () => {
      if (worker === started) worker = undefined
    }
    started.on('error', forget)
    started.on('exit', forget)
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

/** Keeps the process alive only during a write. */
export const createWriterClient = ({ seating, onStale }: SeatDeps) => {
  let underWay: PromiseWithResolvers<readonly WriteOutcome[]> | undefined
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
    // The thread must know the port first.
    await Promise.race([once(found, 'message'), once(found, 'close').then(assertOpen)])
    found.unref()
    seen = Atomics.load(numbers, commitsAt)
    port = found
    // Earlier commits were not announced here.
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

  /** Without a port, nothing is sent. */
  const standing = () => {
    if (!seating.isShared() || isClosed) return
    onStale('everything')
    take().catch(() => undefined)
  }

  return {
    take,

    /** Throws if it could not be sent. */
    call(batch: Batch): Promise<readonly WriteOutcome[]> {
      if (!port) throw failure(datastoreUnreachable, {})
      port.postMessage(batch)
      port.ref()
      underWay = Promise.withResolvers()
      return underWay.promise
    },

    /** Reads stale keys of reported commits without waiting. */
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
