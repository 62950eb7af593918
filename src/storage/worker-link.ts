import { Worker } from 'node:worker_threads'
import { datastoreUnreachable, failure } from '../lib/failure.ts'

export interface Numbered<T> {
  number: number
  content: T
}

/** Loads the script in `workerData.script`. */
export const threadScript = new URL('./worker-start.mjs', import.meta.url)
// Messages are garbage as soon as they are answered: more space would only fill up.
export const maxYoungGenerationSizeMb = 6

interface Waiting<Answer> {
  resolve: (content: Answer) => void
  reject: (error: unknown) => void
}

/** Long reads must not take the processor from short requests. */
export const longReadNiceness = 10

interface ThreadOptions {
  /** 0 to 19, as in `nice`. */
  niceness?: number
  /** The thread ends after this time without calls. */
  idleMilliseconds?: number
}

/** A thread that starts at its first call. It keeps the process alive only during calls; if it dies, they fail. */
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
    load: () => waiting.size,
    async close() {
      clearTimeout(farewell)
      await worker?.terminate()
      failAll(undefined)
    },
  }
}
