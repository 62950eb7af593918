import type { Clock } from '../lib/clock.ts'
import { isOutage } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'
import { inTrace } from '../lib/trace.ts'
import type { Statement } from '../storage/db.ts'
import { expireRows } from '../storage/expire-rows.ts'
import { createScheduleRows, scheduleLeases } from '../storage/leases.ts'
import type { Store } from '../storage/store.ts'
import { isLeaseLost, type Lease, type Leases, leaseLost } from './leases.ts'
import { createWaker } from './waker.ts'

/** Recurring work. One process of a store does it at a time. */
export interface ScheduledJob {
  name: string
  everySeconds: number
  /**
   * Whether there is work: a cheap read every `everySeconds`. Without it the job runs once in `everySeconds`, in
   * whichever process.
   */
  due?(): Promise<boolean>
  /** `signal` aborts when the server stops or another process took the job over. A write with `guard` fails then. */
  run(signal: AbortSignal, guard: Statement): Promise<void>
}

export type Scheduler = ReturnType<typeof createScheduler>

// Upper limit of the pause between looks.
const maxLookPauseMs = 60_000
// Pause while another process runs the job: it may have missed the new work.
const occupiedPauseMs = 300

const createJobRunner = (job: ScheduledJob, { leases, store, clock, log, isHeld }: RunnerDeps) => {
  const rows = createScheduleRows(store)
  const stopping = new AbortController()
  const waker = createWaker()
  let looping: Promise<void> | undefined
  let isTimed = false
  /** The end of the latest work. */
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = Promise.allSettled([turn])
    return turn
  }

  const isDue = async () =>
    job.due ? job.due() : clock.now() - (await rows.doneAt(job.name)) >= job.everySeconds * 1000

  /** A job that breaks off returns normally, but must run again. */
  const carryOut = async (lease: Lease) => {
    try {
      await job.run(AbortSignal.any([stopping.signal, lease.lost]), lease.guardStatement())
    } catch (error) {
      throw lease.lost.aborted && !isOutage(error) ? leaseLost(error) : error
    }
    if (lease.lost.aborted) throw leaseLost()
    if (job.due || stopping.signal.aborted) return
    await rows.done(job.name, clock.now(), lease.guardStatement())
  }

  /** False if another process runs it. */
  const perform = async () => {
    const lease = await leases.take(`${scheduleLeases}${job.name}`)
    if (!lease) return false
    try {
      // Loads commits of other processes, settings included.
      await store.fence()
      if (!(await isHeld())) await carryOut(lease)
    } finally {
      await lease.release()
    }
    return true
  }

  /** False if it must be retried soon, because another process runs it. */
  const look = async (isWoken: boolean) => {
    try {
      return (!isWoken && !(await isDue())) || (await perform())
    } catch (error) {
      const facts = { job: job.name, error: describeError(error) }
      if (isLeaseLost(error)) {
        log.write('warn', 'a scheduled job was stopped because its lease was lost', facts)
        return false
      }
      if (!stopping.signal.aborted) log.write('error', 'a scheduled job failed', facts)
      return true
    }
  }

  const loop = async () => {
    let isWoken = false
    let pauseMs = isTimed ? 0 : undefined
    for (;;) {
      isWoken = (await waker.heard(pauseMs, stopping.signal)) || isWoken
      if (stopping.signal.aborted) return
      const isDone = await inTurn(() => look(isWoken))
      if (isDone) isWoken = false
      const usualMs = isTimed ? Math.min(job.everySeconds * 1000, maxLookPauseMs) : undefined
      pauseMs = isDone ? usualMs : occupiedPauseMs
    }
  }

  // Without the trace of the caller.
  const begin = () => {
    looping ??= inTrace(undefined, loop)
  }

  return {
    start() {
      isTimed = true
      begin()
    },
    wake() {
      waker.ring()
      begin()
    },
    runNow: () =>
      inTurn(async () => {
        if (!(await perform())) throw new Error(`another process is running the scheduled job ${job.name}`)
      }),
    async stop() {
      stopping.abort()
      await looping
      await last
    },
  }
}

interface SchedulerDeps {
  leases: Leases
  store: Store
  clock: Clock
  log: Log
  /** Runs a job in another process, if jobs run elsewhere. */
  wakeElsewhere?: ((name: string) => void) | undefined
}

interface RunnerDeps extends SchedulerDeps {
  isHeld(): Promise<boolean>
}

export const createScheduler = (deps: SchedulerDeps) => {
  let isHeld = async () => false
  const runners = new Map<string, ReturnType<typeof createJobRunner>>()
  let isStarted = false

  return {
    add(job: ScheduledJob) {
      if (runners.has(job.name)) throw new Error(`two scheduled jobs are called ${job.name}`)
      runners.set(job.name, createJobRunner(job, { ...deps, isHeld: () => isHeld() }))
    },
    /** While it returns true, no job runs. */
    hold(asked: () => Promise<boolean>) {
      isHeld = asked
    },
    /** For long work: once true, it must stop starting work, store its progress and end. */
    isHeld: () => isHeld(),
    /** Call it when everything that jobs need exists. With `onlyWoken`, jobs run only on `wake`. */
    start(onlyWoken = false) {
      isStarted = true
      if (!onlyWoken) for (const runner of runners.values()) runner.start()
    },
    /** Runs the job soon: a request has created work for it. */
    wake(name: string) {
      if (isStarted) runners.get(name)?.wake()
      else deps.wakeElsewhere?.(name)
    },
    /** Runs the job now, and resolves when it has ended. */
    async runNow(name: string) {
      const runner = runners.get(name)
      if (!runner) throw new Error(`there is no scheduled job ${name}`)
      await runner.runNow()
    },
    /** Aborts running jobs and waits for them. */
    async stop() {
      await Promise.all(runners.values().map((runner) => runner.stop()))
    },
  }
}

interface OldRows {
  /** The name of the job. */
  name: string
  everySeconds?: number
  table: string
  /** The primary key. */
  key: readonly string[]
  /** A condition with an index: `at < $1`. */
  where: string
  /** The value of $1; undefined: nothing is deleted now. */
  before(): Promise<number | undefined> | number | undefined
}

/** A job that deletes old rows in transactions of bounded size, hourly by default. */
export const deleteOldRows = (
  store: Pick<Store, 'all' | 'writeUnrecorded'>,
  { name, everySeconds = 3600, before, ...rows }: OldRows,
): ScheduledJob => ({
  name,
  everySeconds,
  async run(signal) {
    const moment = await before()
    if (moment !== undefined) await expireRows(store, { ...rows, params: [moment] }, signal)
  },
})
