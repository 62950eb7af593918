import { Worker } from 'node:worker_threads'
import { datastoreUnreachable, failure } from '../lib/failure.ts'

/** A question to a worker thread; the answer carries the same number. */
export interface Numbered<T> {
  number: number
  content: T
}

/** The first script of every thread: it loads the one that `workerData.script` names. */
export const threadScript = new URL('./worker-start.mjs', import.meta.url)
// What a question brings is garbage as soon as it is answered: room for more would only be filled with it.
export const maxYoungGenerationSizeMb = 6

interface Waiting<Answer> {
  resolve: (content: Answer) => void
  reject: (error: unknown) => void
}

/** Of threads for long reads: requests of a moment are not to wait for a processor because of them. */
export const longReadNiceness = 10

interface ThreadOptions {
  /**
   * How far the thread gives way to the event loop, and to all else on the machine, when there are more threads at work
   * than processors: 0 is not at all, 19 altogether.
   */
  niceness?: number
  /** The thread ends when it has had nothing to do for so long; the next call starts another. */
  idleMilliseconds?: number
}

/**
 * Calls into a worker thread that is started when the first one comes. It keeps the process alive only
 * while a call is under way; when it dies, its calls fail and the next one starts another.
 */
export const createWorkerLink = <Question, Answer>(
  script: URL,
  workerData: object,
  { niceness = 0, idleMilliseconds }: ThreadOptions = {},
) => {
  let worker: Worker | undefined
  let lastNumber = 0
  let farewell: NodeJS.Timeout | undefined
  const waiting = new Map<number, Waiting<Answer>>()

  const failAll = (reason: unknown) => {
    worker = undefined
    const lost = [...waiting.values()]
    waiting.clear()
    for (const call of lost) call.reject(failure(datastoreUnreachable, {}, reason))
  }

  const leave = () => {
    if (waiting.size > 0) return
    void worker?.terminate()
    worker = undefined
  }

  const rest = () => {
    worker?.unref()
    if (idleMilliseconds === undefined) return
    farewell = setTimeout(leave, idleMilliseconds)
    farewell.unref()
  }

  const settle = ({ number, content }: Numbered<Answer>) => {
    const call = waiting.get(number)
    waiting.delete(number)
    if (waiting.size === 0) rest()
    call?.resolve(content)
  }

  const start = () => {
    const started = new Worker(threadScript, {
      workerData: { ...workerData, niceness, script: script.href },
      resourceLimits: { maxYoungGenerationSizeMb },
    })
    started.on('message', settle)
    started.on('error', failAll)
    return started
  }

  return {
    call(content: Question): Promise<Answer> {
      clearTimeout(farewell)
      worker ??= start()
      worker.ref()
      const question: Numbered<Question> = { number: ++lastNumber, content }
      worker.postMessage(question)
      return new Promise((resolve, reject) => {
        waiting.set(question.number, { resolve, reject })
      })
    },
    /** How many calls are under way. */
    load: () => waiting.size,
    async close() {
      clearTimeout(farewell)
      await worker?.terminate()
      failAll(undefined)
    },
  }
}
