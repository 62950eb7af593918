import type { Clock } from '../lib/clock.ts'
import { isOutage } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'
import { inTrace } from '../lib/trace.ts'
import type { Statement } from '../storage/db.ts'
import { createScheduleRows } from '../storage/leases.ts'
import type { Store } from '../storage/store.ts'
import { createWaker } from './bell.ts'
import { isLeaseLost, type Lease, type Leases, leaseLost } from './leases.ts'

/** What the server does again and again by itself; of all processes of a store one at a time. */
export interface ScheduledJob {
  name: string
  everySeconds: number
  /**
   * Whether there is something to do: a cheap read, asked every `everySeconds`. Without it the round is done once
   * in `everySeconds`, whichever process does it and however often it is started.
   */
  due?(): Promise<boolean>
  /**
   * `signal` is aborted when the server stops or another process took the round over. `guard`, put into a write,
   * lets it fail unless this process still does the round.
   */
  run(signal: AbortSignal, guard: Statement): Promise<void>
}

export interface Scheduler {
  add(round: ScheduledJob): void
  /** As long as it answers true, no round is done. */
  hold(isHeld: () => Promise<boolean>): void
  /** For work that lasts as long as its server: once true, it begins nothing more, records what it has begun, and ends. */
  isHeld(): Promise<boolean>
  /** To be called when everything that rounds need is there. With `onlyNudged`, no round is done because its time has come. */
  start(onlyNudged?: boolean): void
  /** Does the round soon, if there is one: a request has made work for it. */
  nudge(name: string): void
  /** Does the round now, due or not, and resolves when it is done. */
  runNow(name: string): Promise<void>
  /** Aborts what runs and waits for it. */
  stop(): Promise<void>
}

// A round that must be done once a day is looked after this often.
const longestPauseMs = 60_000
// Another process is just doing the round: it may have passed the new work already.
const occupiedPauseMs = 300

const createRunner = (round: ScheduledJob, { leases, store, clock, log, isHeld }: RunnerDeps) => {
  const rows = createScheduleRows(store)
  const stopping = new AbortController()
  const bell = createWaker()
  let looping: Promise<void> | undefined
  let isTimed = false
  /** The end of what was begun last. */
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = Promise.allSettled([turn])
    return turn
  }

  const isDue = async () =>
    round.due ? round.due() : clock.now() - (await rows.doneAt(round.name)) >= round.everySeconds * 1000

  /** One that breaks off returns as well: it is not done, and somebody has to do it. */
  const carryOut = async (lease: Lease) => {
    try {
      await round.run(AbortSignal.any([stopping.signal, lease.lost]), lease.guardStatement())
    } catch (error) {
      throw lease.lost.aborted && !isOutage(error) ? leaseLost(error) : error
    }
    if (lease.lost.aborted) throw leaseLost()
    if (round.due || stopping.signal.aborted) return
    await rows.done(round.name, clock.now(), lease.guardStatement())
  }

  /** False when another process is at it. */
  const perform = async () => {
    const lease = await leases.take(`round/${round.name}`)
    if (!lease) return false
    try {
      // What other processes have committed, settings among it, is known from here on.
      await store.fence()
      if (!(await isHeld())) await carryOut(lease)
    } finally {
      await lease.release()
    }
    return true
  }

  /** False when it has to be tried again soon, because another process is at it. */
  const look = async (isNudged: boolean) => {
    try {
      return (!isNudged && !(await isDue())) || (await perform())
    } catch (error) {
      const facts = { round: round.name, error: describeError(error) }
      if (isLeaseLost(error)) {
        log.write('warn', 'a round was broken off, for its lease was lost', facts)
        return false
      }
      if (!stopping.signal.aborted) log.write('error', 'a round failed', facts)
      return true
    }
  }

  const loop = async () => {
    let isNudged = false
    let pauseMs = isTimed ? 0 : undefined
    for (;;) {
      isNudged = (await bell.heard(pauseMs, stopping.signal)) || isNudged
      if (stopping.signal.aborted) return
      const isDone = await inTurn(() => look(isNudged))
      if (isDone) isNudged = false
      const usualMs = isTimed ? Math.min(round.everySeconds * 1000, longestPauseMs) : undefined
      pauseMs = isDone ? usualMs : occupiedPauseMs
    }
  }

  // It works for nobody whose trace is known: neither who has started it nor who nudges it.
  const begin = () => {
    looping ??= inTrace(undefined, loop)
  }

  return {
    start() {
      isTimed = true
      begin()
    },
    nudge() {
      bell.ring()
      begin()
    },
    runNow: () =>
      inTurn(async () => {
        if (!(await perform())) throw new Error(`another process is doing the round ${round.name}`)
      }),
    async stop() {
      stopping.abort()
      await looping
      await last
    },
  }
}

interface RoundDeps {
  leases: Leases
  store: Store
  clock: Clock
  log: Log
  /** Has somebody else do a round soon, where rounds are done elsewhere. */
  nudgeElsewhere?: ((name: string) => void) | undefined
}

interface RunnerDeps extends RoundDeps {
  isHeld(): Promise<boolean>
}

export const createScheduler = (tools: RoundDeps): Scheduler => {
  let isHeld = async () => false
  const runners = new Map<string, ReturnType<typeof createRunner>>()
  let isStarted = false

  const runnerOf = (name: string) => {
    const runner = runners.get(name)
    if (!runner) throw new Error(`there is no round ${name}`)
    return runner
  }

  return {
    add(round) {
      if (runners.has(round.name)) throw new Error(`two rounds are called ${round.name}`)
      runners.set(round.name, createRunner(round, { ...tools, isHeld: () => isHeld() }))
    },
    hold(asked) {
      isHeld = asked
    },
    isHeld: () => isHeld(),
    start(onlyNudged = false) {
      isStarted = true
      if (!onlyNudged) for (const runner of runners.values()) runner.start()
    },
    nudge(name) {
      if (isStarted) runners.get(name)?.nudge()
      else tools.nudgeElsewhere?.(name)
    },
    runNow: (name) => runnerOf(name).runNow(),
    async stop() {
      await Promise.all([...runners.values()].map((runner) => runner.stop()))
    },
  }
}
