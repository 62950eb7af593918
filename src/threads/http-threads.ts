import { Worker } from 'node:worker_threads'
import type { RunningServer } from '../compose.ts'
import type { Config } from '../config/config.ts'
import type { Figures } from '../lib/metrics.ts'
import type { WriterRegistry } from '../storage/db.ts'
import { threadScript } from '../storage/worker-link.ts'
import type { ThreadData } from './http-thread.ts'
import type { SharedThreadState } from './shared-state.ts'
import { createThreadRpc, type ThreadReplies, type ThreadRpc } from './thread-rpc.ts'

interface Deps {
  config: Config
  server: RunningServer
  company: SharedThreadState
  seating: WriterRegistry
}

export type HttpThreads = Awaited<ReturnType<typeof startHttpThreads>>

// Flags of the process do not apply to threads: three semi-spaces.
const maxYoungGenerationSizeMb = 24

const startThread = (data: ThreadData, answers: ThreadReplies) => {
  const script = new URL('./http-thread.ts', import.meta.url).href
  const worker = new Worker(threadScript, {
    workerData: { ...data, script },
    resourceLimits: { maxYoungGenerationSizeMb },
  })
  // A failed thread has lost requests: the process ends, and its supervisor restarts it.
  worker.on('error', (error) => {
    throw error
  })
  return { worker, peer: createThreadRpc(worker, answers) }
}

export const startHttpThreads = async ({ config, server, company, seating }: Deps) => {
  const data = {
    config: { ...config, port: server.port },
    company,
    store: { commits: seating.commits, processId: seating.processId },
  }
  const answers: ThreadReplies = {
    async seat() {
      const port = await seating.seat()
      return { content: port, transfer: [port] }
    },
    wake(name: string) {
      server.scheduler.wake(name)
      return {}
    },
    metrics: async () => ({ content: await server.metricsText() }),
  }
  const threads = Array.from({ length: company.threads - 1 }, (_, index) =>
    startThread({ ...data, threadNumber: index + 2 }, answers),
  )
  const askAll = <T>(question: string) =>
    Promise.all(threads.map(({ peer }: { peer: ThreadRpc }) => peer.ask<T>(question)))
  const end = () => Promise.all(threads.map(({ worker }) => worker.terminate()))
  try {
    await askAll('start')
  } catch (error) {
    await end()
    throw error
  }

  return {
    figures: () => askAll<Figures>('figures'),
    retire: () => askAll<void>('retire'),
    async stop() {
      try {
        await askAll('stop')
      } finally {
        await end()
      }
    },
  }
}
