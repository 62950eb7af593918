// Which of the started tasks this process works on.
import type { Lease, Leases } from '../../../jobs/leases.ts'
import type { Round, Rounds } from '../../../jobs/rounds.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Store } from '../../../storage/store.ts'
import { nextTask, type Waiting } from '../rules.ts'
import type { Run, TaskKey, TaskRecord, TaskStore } from '../store.ts'

interface Tools {
  store: TaskStore
  fence: Store['fence']
  settings: Settings
  leases: Leases
  rounds: Rounds
  node: string
  log: Log
  run(task: TaskRecord, start: Run, lease: Lease, signal: AbortSignal): Promise<void>
}

const takingUp = 'tasks'
const sweeping = 'task leftovers'

// Another process may have died, or left room: a cheap look.
const lookEverySeconds = 2
const sweepEverySeconds = 600
// An input in which nothing came for so long was left by a process that died: a living one gives up after a minute.
const oldestUploadMs = 3_600_000
const sweptAtOnce = 100

/** What runs in this process, by task id. */
interface Running {
  accountId: string
  done: Promise<void>
}

const countByAccount = (running: Iterable<{ accountId: string }>) => {
  const counts = new Map<string, number>()
  for (const { accountId } of running) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return counts
}

export const createWorkers = ({ store, fence, settings, leases, rounds, node, log, run }: Tools) => {
  const running = new Map<string, Running>()
  /** By account, as long as it has tasks waiting: when this process took one up. */
  let lastServed = new Map<string, number>()
  let served = 0
  const stopping = new AbortController()

  const perform = async (key: TaskKey, lease: Lease) => {
    try {
      await store.takeOver(key, node)
      await fence()
      const task = await store.tasks.find(key.accountId, key.taskId)
      const start = await store.run(key)
      // It may have ended between the look and the lease.
      if (!task || start?.state !== 'executing') return
      await run(task, start, lease, AbortSignal.any([stopping.signal, lease.lost]))
    } finally {
      await lease.release()
    }
  }

  const begin = (key: TaskKey, lease: Lease) => {
    served += 1
    lastServed.set(key.accountId, served)
    // What could not be done is tried again at the next look, not at once.
    const onError = (error: unknown) => {
      log.write('error', 'a task was left where it stands', {
        task_id: key.taskId,
        account_id: key.accountId,
        error: describeError(error),
      })
      return false
    }
    const done = perform(key, lease)
      .then(() => true, onError)
      .then((isDone) => {
        running.delete(key.taskId)
        if (isDone && !stopping.signal.aborted) rounds.nudge(takingUp)
      })
    running.set(key.taskId, { accountId: key.accountId, done })
  }

  const hasRoom = async () => running.size < (await settings.of('tasks')).max_running

  const takeUp = async (signal: AbortSignal) => {
    const elsewhere: Waiting[] = []
    const waiting = await store.waiting()
    const accounts = new Set(waiting.map(({ accountId }) => accountId))
    lastServed = new Map([...lastServed].filter(([accountId]) => accounts.has(accountId)))
    const isFree = ({ taskId }: Waiting) =>
      !running.has(taskId) && !elsewhere.some((other) => other.taskId === taskId)
    while (!signal.aborted && !stopping.signal.aborted && (await hasRoom())) {
      const service = { running: countByAccount([...running.values(), ...elsewhere]), lastServed }
      const next = nextTask(waiting.filter(isFree), service)
      if (!next) return
      const lease = await leases.take(`task/${next.taskId}`)
      if (lease) begin(next, lease)
      else elsewhere.push(next)
    }
  }

  const sweep = async (signal: AbortSignal, now: number) => {
    const uploadsBefore = now - oldestUploadMs
    for (;;) {
      const litter = await store.litter(uploadsBefore, sweptAtOnce)
      for (const key of litter) {
        if (signal.aborted) return
        await store.sweep(key, uploadsBefore)
      }
      if (litter.length < sweptAtOnce) return
    }
  }

  const roundsOf = (clock: { now(): number }): Round[] => [
    {
      name: takingUp,
      everySeconds: lookEverySeconds,
      async due() {
        if (!(await hasRoom())) return false
        const executing = await store.someExecuting(running.size + 1)
        return executing.some((id) => !running.has(id))
      },
      run: takeUp,
    },
    {
      name: sweeping,
      everySeconds: sweepEverySeconds,
      due: async () => (await store.litter(clock.now() - oldestUploadMs, 1)).length > 0,
      run: (signal) => sweep(signal, clock.now()),
    },
  ]

  return {
    roundsOf,
    /** A task was started. */
    wake: () => rounds.nudge(takingUp),
    /** A task was removed. */
    wakeSweeper: () => rounds.nudge(sweeping),
    /** Leaves every task where it stands, for another process or for later. */
    async stop() {
      stopping.abort()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
