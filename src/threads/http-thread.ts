import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { type RunningServer, startServer } from '../compose.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../lib/clock.ts'
import { createLineWriter } from '../lib/line-writer.ts'
import { createLog } from '../lib/log.ts'
import { joinSqlite } from '../storage/sqlite.ts'
import type { FirstThread, SharedThreadState } from './shared-state.ts'
import { createThreadRpc } from './thread-rpc.ts'

export interface ThreadData {
  config: Config
  company: SharedThreadState
  threadNumber: number
  store: { commits: SharedArrayBuffer; processId: string }
}

// A further thread that answers requests.
if (!parentPort) throw new Error('this is the script of a thread')
const { config, company, threadNumber, store } = workerData as ThreadData

let server: RunningServer | undefined

const lines = createLineWriter((text) => process.stderr.write(text))

const first = createThreadRpc(parentPort, {
  async start() {
    const db = await joinSqlite(join(config.dataDir, 'crosspoint.db'), {
      ...store,
      tellsKeys: false,
      isShared: () => true,
      seat: () => first.ask('seat'),
    })
    const thread: FirstThread = {
      threadNumber,
      wake: (name) => void first.ask('wake', name),
      metricsText: () => first.ask('metrics'),
    }
    const log = createLog(config, systemClock, lines.add)
    server = await startServer(config, { clock: systemClock, log }, { db, company, first: thread })
    return {}
  },
  retire() {
    server?.retire()
    return {}
  },
  async stop() {
    await server?.stop()
    lines.flush()
    return {}
  },
  figures: async () => ({ content: await server?.figures() }),
})
