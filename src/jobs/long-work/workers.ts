// Which of the runs of one kind this process works on.
import { describeError, type Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { Store } from '../../storage/store.ts'
import type { Lease, Leases } from '../leases.ts'
import type { Round, Rounds } from '../rounds.ts'
import { nextRun, type Waiting } from './fairness.ts'
import type { Run, RunKey, RunStore } from './store.ts'

export interface WorkerTools<Detail> {
  base: Pick<Store, 'fence' | 'clock'>
  runs: RunStore<Detail>
  leases: Leases
  rounds: Rounds
  node: string
  log: Log
  metrics: Metrics
  /** How many this process works on at once. */
  mostAtOnce(): Promise<number>
  /** After how long one makes room while others wait; `work` gets on each time, however soon that is. Absent: each is worked on to its end. */
  turnMs?: number
  /** Works on one until it ends, is stopped, or `signal` says to leave it where it stands. */
  work(run: Run<Detail>, lease: Lease, signal: AbortSignal): Promise<void>
}

// Another process may have died, or left room: a cheap look.
const lookEverySeconds = 2
const sweepEverySeconds = 600
// An input in which nothing came for so long was left by a process that died: a living one gives up after a minute.
const oldestUploadMs = 3_600_000
const sweptAtOnce = 100

/** What runs in this process, by id. */
interface Running {
  accountId: string
  done: Promise<void>
}

const countByAccount = (running: Iterable<{ accountId: string }>) => {
  const counts = new Map<string, number>()
  for (const { accountId } of running) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return counts
}

export const createWorkers = <Detail>(tools: WorkerTools<Detail>) => {
  const { base, runs, leases, rounds, node, log, mostAtOnce, turnMs, work } = tools
  const takingUp = `${runs.kind}s`
  const sweeping = `${runs.kind} leftovers`
  const running = new Map<string, Running>()
  /** By account, as long as it has runs waiting: when this process took one up. */
  let lastServed = new Map<string, number>()
  let served = 0
  const stopping = new AbortController()
  tools.metrics.gauge(
    { name: `crosspoint_${runs.kind}s_running`, help: `A ${runs.kind} is at work in this process.` },
    () => running.size,
  )
  const turnsTaken = tools.metrics.counter({
    name: `crosspoint_${runs.kind}_turns_total`,
    help: `Turns that this process gave to a ${runs.kind}, by whether it could be worked on.`,
    labels: ['outcome'],
  })

  const doOthersWait = async () => {
    const executing = await runs.someExecuting(running.size + 1)
    return executing.some((id) => !running.has(id))
  }

  /** Aborted when the work has had its turn and others wait. */
  const beginTurn = () => {
    const over = new AbortController()
    const look = () =>
      doOthersWait().then(
        (isTime) => isTime && over.abort(),
        // A store that cannot be asked stops the work by itself.
        () => undefined,
      )
    const timer = turnMs === undefined ? undefined : setInterval(look, turnMs)
    return { signal: over.signal, end: () => clearInterval(timer) }
  }

  const workForATurn = async (run: Run<Detail>, lease: Lease) => {
    const turn = beginTurn()
    let isOver = false
    try {
      await work(run, lease, AbortSignal.any([stopping.signal, lease.lost, turn.signal]))
      isOver = !turn.signal.aborted
    } finally {
      turn.end()
      // What could not be done makes room as well: else nothing of its account would ever come behind it.
      if (!isOver) await runs.stepBack(run)
    }
  }

  const perform = async (key: RunKey, lease: Lease) => {
    try {
      await runs.takeOver(key, node)
      await base.fence()
      const run = await runs.run(key)
      // It may have ended between the look and the lease.
      if (run?.state === 'executing') await workForATurn(run, lease)
    } finally {
      await lease.release()
    }
  }

  const begin = (key: RunKey, lease: Lease) => {
    served += 1
    lastServed.set(key.accountId, served)
    // What could not be done is tried again at the next look, not at once.
    const onError = (error: unknown) => {
      log.write('error', `a ${runs.kind} was left where it stands`, {
        [`${runs.kind}_id`]: key.id,
        account_id: key.accountId,
        error: describeError(error),
      })
      return false
    }
    const done = perform(key, lease)
      .then(() => true, onError)
      .then((isDone) => {
        running.delete(key.id)
        turnsTaken.of(isDone ? 'done' : 'left').add()
        if (isDone && !stopping.signal.aborted) rounds.nudge(takingUp)
      })
    running.set(key.id, { accountId: key.accountId, done })
  }

  const hasRoom = async () => running.size < (await mostAtOnce())

  const takeUp = async (signal: AbortSignal) => {
    const elsewhere: Waiting[] = []
    const waiting = await runs.waiting()
    const accounts = new Set(waiting.map(({ accountId }) => accountId))
    lastServed = new Map([...lastServed].filter(([accountId]) => accounts.has(accountId)))
    const isFree = ({ id }: Waiting) => !running.has(id) && !elsewhere.some((other) => other.id === id)
    while (!signal.aborted && !stopping.signal.aborted && (await hasRoom())) {
      const service = { running: countByAccount([...running.values(), ...elsewhere]), lastServed }
      const next = nextRun(waiting.filter(isFree), service)
      if (!next) return
      const lease = await leases.take(`${runs.kind}/${next.id}`)
      if (lease) begin(next, lease)
      else elsewhere.push(next)
    }
  }

  const sweep = async (signal: AbortSignal, now: number) => {
    const uploadsBefore = now - oldestUploadMs
    for (;;) {
      const litter = await runs.litter(uploadsBefore, sweptAtOnce)
      for (const key of litter) {
        if (signal.aborted) return
        await runs.sweep(key, uploadsBefore)
      }
      if (litter.length < sweptAtOnce) return
    }
  }

  const ownRounds: Round[] = [
    {
      name: takingUp,
      everySeconds: lookEverySeconds,
      due: async () => (await hasRoom()) && (await doOthersWait()),
      run: takeUp,
    },
    {
      name: sweeping,
      everySeconds: sweepEverySeconds,
      due: async () => (await runs.litter(base.clock.now() - oldestUploadMs, 1)).length > 0,
      run: (signal) => sweep(signal, base.clock.now()),
    },
  ]

  return {
    rounds: ownRounds,
    /** A run was started. */
    wake: () => rounds.nudge(takingUp),
    /** A run was removed. */
    wakeSweeper: () => rounds.nudge(sweeping),
    /** Leaves every run where it stands, for another process or for later. */
    async stop() {
      stopping.abort()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
