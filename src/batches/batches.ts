// Batches: resumable work on many rows. One process at a time works on a run, and every row is done once.

import { isLeaseLost, type Lease, type Leases, leaseLost } from '../jobs/leases.ts'
import type { ScheduledJob, Scheduler } from '../jobs/scheduler.ts'
import { csvLine, plainCsvLine } from '../lib/csv.ts'
import { isOutage } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { BatchRun, RunKey, RunStore, WaitingRun } from './store.ts'

/** The run was stopped or removed, or another process works on it. */
class RunIsOver extends Error {}

/** Whether an error is about the run or the store, not about the rows. */
export const endsTheWork = (error: unknown) => error instanceof RunIsOver || isOutage(error)

export interface RowResults<Detail = never> {
  succeeded?: number
  failed?: number
  /** Rows by column name. Unknown columns are ignored. */
  output?: { columns: readonly string[]; rows: readonly Readonly<Record<string, unknown>>[] }
  /** The failed rows, unchanged. */
  failedRows?: readonly (readonly (string | undefined)[])[]
  changes?: readonly ChangeSet[]
  /** Writes without audit entries. */
  statements?: readonly Statement[]
  position?: string | undefined
  /** Replaces the detail of the run. */
  detail?: Detail | undefined
  workedMs?: number
}

/** A run that this process works on. */
export interface RunProgress<Detail = unknown> {
  readonly run: BatchRun<Detail>
  /** Aborted when the server stops or another process may work on the run. */
  readonly signal: AbortSignal
  /** False when the server stops or the turn of the run is over. */
  mayGoOn(): Promise<boolean>
  /** Commits what must be stored before external requests. */
  prepare(changes: readonly ChangeSet[]): Promise<void>
  /** Commits results with the progress. Fails if the run was stopped or taken over. */
  enter(entry: RowResults<Detail>): Promise<void>
  end(set: ChangeSet): Promise<void>
}

/** The dependencies of every kind of batch. */
export interface BatchDeps {
  leases: Leases
  scheduler: Scheduler
  /** The name of this process. */
  node: string
  log: Log
  metrics: Metrics
}

interface Deps<Detail> extends BatchDeps {
  base: Store
  runs: RunStore<Detail>
  /** Maximum number of concurrent runs in this process. */
  maxConcurrentRuns(): Promise<number>
  /** How long a run is worked on while others wait, in ms. Default: to its end. */
  turnMs?: number
  /** Works on a run to its end, or until `mayGoOn` returns false. Each turn must make progress first. */
  work(progress: RunProgress<Detail>): Promise<void>
}

// Finds runs of processes that died or have no capacity.
const lookEverySeconds = 2
const sweepEverySeconds = 600
// A running upload ends after a minute without data.
const oldestUploadMs = 3_600_000
const keysAtOnce = 50

const isSomething = (value: unknown) => value !== undefined && value !== null && value !== ''

const heldAfter = (held: string, { columns, rows }: NonNullable<RowResults['output']>) =>
  columns
    .map((name, index) => (held[index] === '1' || rows.some((row) => isSomething(row[name])) ? '1' : '0'))
    .join('')

interface Service {
  running: ReadonlyMap<string, number>
  /** A growing number for each account: when it was served last. */
  lastServed: ReadonlyMap<string, number>
}

/**
 * Fair: first the account with the fewest running, then the one served longest ago, then the run that waited longest.
 */
export const nextRun = <T extends WaitingRun>(
  waiting: readonly T[],
  { running, lastServed }: Service,
): T | undefined =>
  waiting.toSorted(
    (one, other) =>
      (running.get(one.accountId) ?? 0) - (running.get(other.accountId) ?? 0) ||
      (lastServed.get(one.accountId) ?? 0) - (lastServed.get(other.accountId) ?? 0) ||
      one.since - other.since ||
      (one.id < other.id ? -1 : 1),
  )[0]

export const createProgress = <Detail>(
  { base, runs }: Pick<Deps<Detail>, 'base' | 'runs'>,
  lease: Lease,
  start: BatchRun<Detail>,
  { signal, mayGoOn }: Pick<RunProgress, 'signal' | 'mayGoOn'>,
): RunProgress<Detail> => {
  let run = start

  const partOf = (name: 'out' | 'failed', number: number, lines: readonly string[]) => {
    const part = { number, firstRow: run.done, content: Buffer.from(lines.join('')) }
    return lines.length === 0 ? [] : [runs.parts.statement(run, name, part)]
  }

  /** Commits if this process still has the run. */
  const commitAt = async (statements: readonly Statement[], changes: readonly ChangeSet[]) => {
    const guarded = [lease.guardStatement(), ...statements]
    const [first] = changes
    first?.statements.unshift(...guarded)
    try {
      await (first ? base.commit(...changes) : base.writeUnrecorded(guarded))
    } catch (error) {
      throw isLeaseLost(error) ? new RunIsOver() : error
    }
  }

  return {
    get run() {
      return run
    },
    signal,
    mayGoOn,
    prepare: (changes) => commitAt([runs.advance(run, run, leaseLost)], changes),
    async enter({ succeeded = 0, failed = 0, output, failedRows = [], changes = [], ...entry }) {
      const { columns = [], rows = [] } = output ?? {}
      const lines = rows.map((row) => csvLine(columns.map((name) => row[name])))
      const after: BatchRun<Detail> = {
        ...run,
        done: run.done + succeeded + failed,
        succeeded: run.succeeded + succeeded,
        failed: run.failed + failed,
        position: entry.position ?? run.position,
        detail: entry.detail ?? run.detail,
        outParts: run.outParts + Math.min(lines.length, 1),
        failedParts: run.failedParts + Math.min(failedRows.length, 1),
        held: output ? heldAfter(run.held, output) : run.held,
        workedMs: run.workedMs + (entry.workedMs ?? 0),
      }
      const parts = [
        ...partOf('out', run.outParts, lines),
        ...partOf('failed', run.failedParts, failedRows.map(plainCsvLine)),
      ]
      const statements = [runs.advance(run, after, leaseLost), ...parts, ...(entry.statements ?? [])]
      await commitAt(statements, changes)
      run = after
    },
    end: (set) => commitAt([runs.move(run, 'executing', 'ended', leaseLost)], [set]),
  }
}

/** Works on runs until a read returns fewer than its limit, or `signal` aborts. */
export const workOff = async (
  read: (limit: number) => Promise<readonly RunKey[]>,
  work: (key: RunKey) => Promise<void>,
  signal: AbortSignal,
) => {
  for (;;) {
    const keys = await read(keysAtOnce)
    for (const key of keys) {
      if (signal.aborted) return
      await work(key)
    }
    if (keys.length < keysAtOnce) return
  }
}

const measureBatches = (metrics: Metrics, kind: string, running: ReadonlyMap<string, unknown>) => {
  metrics.gauge(
    { name: `crosspoint_${kind}s_running`, help: `Running ${kind}s in this process.` },
    () => running.size,
  )
  return metrics.counter({
    name: `crosspoint_${kind}_batches_total`,
    help: `Batches of a ${kind} that this process ran, by result.`,
    labels: ['outcome'],
  })
}

const performTurn = async <Detail>(
  { base, runs, node, turnMs, work }: Deps<Detail>,
  key: RunKey,
  lease: Lease,
  { stopping, doOthersWait }: { stopping: AbortSignal; doOthersWait(): Promise<boolean> },
) => {
  const signal = AbortSignal.any([stopping, lease.lost])
  const until = turnMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + turnMs
  const mayGoOn = async () => !signal.aborted && (performance.now() < until || !(await doOthersWait()))
  await runs.takeOver(key, node)
  await base.fence()
  const run = await runs.run(key)
  // The run may have ended before the lease was taken.
  if (run?.state !== 'executing') return
  try {
    await work(createProgress({ base, runs }, lease, run, { signal, mayGoOn }))
  } catch (error) {
    if (!(error instanceof RunIsOver)) throw error
  } finally {
    // Also after a failure: otherwise the account's other runs would wait for it.
    if (!signal.aborted) await runs.stepBack(key)
  }
}

export const createBatches = <Detail>(deps: Deps<Detail>) => {
  const { base, runs, leases, scheduler, log, maxConcurrentRuns } = deps
  const takingUp = `${runs.kind}s`
  const sweeping = `${runs.kind} leftovers`
  const running = new Map<string, { accountId: string; done: Promise<void> }>()
  let lastServed = new Map<string, number>()
  let served = 0
  const stopping = new AbortController()
  const turnsTaken = measureBatches(deps.metrics, runs.kind, running)

  const doOthersWait = async () => (await runs.someExecuting(running.size + 1)).some((id) => !running.has(id))

  const perform = async (key: RunKey, lease: Lease) => {
    try {
      const turn = performTurn(deps, key, lease, { stopping: stopping.signal, doOthersWait })
      await turn.finally(() => lease.release())
      return 'done'
    } catch (error) {
      // The next look retries it.
      log.write('error', `a ${runs.kind} was stopped in its place`, {
        [`${runs.kind}_id`]: key.id,
        account_id: key.accountId,
        error: describeError(error),
      })
      return 'left'
    }
  }

  const begin = (key: RunKey, lease: Lease) => {
    served += 1
    lastServed.set(key.accountId, served)
    const done = perform(key, lease).then((outcome) => {
      running.delete(key.id)
      turnsTaken.labels(outcome).inc()
      if (outcome === 'done' && !stopping.signal.aborted) scheduler.wake(takingUp)
    })
    running.set(key.id, { accountId: key.accountId, done })
  }

  const hasRoom = async () => running.size < (await maxConcurrentRuns())

  const takeUp = async (signal: AbortSignal) => {
    const elsewhere: WaitingRun[] = []
    // A batch changes the position of a run in the list: the next pass takes it.
    const tried = new Set(running.keys())
    const waiting = await runs.waiting()
    const accounts = new Set(waiting.map(({ accountId }) => accountId))
    lastServed = new Map([...lastServed].filter(([accountId]) => accounts.has(accountId)))
    while (!signal.aborted && !stopping.signal.aborted && (await hasRoom())) {
      const atWork = Map.groupBy([...running.values(), ...elsewhere], ({ accountId }) => accountId)
      const counts = new Map([...atWork].map(([accountId, { length }]) => [accountId, length]))
      const free = waiting.filter(({ id }) => !tried.has(id))
      const next = nextRun(free, { running: counts, lastServed })
      if (!next) return
      tried.add(next.id)
      const lease = await leases.take(`${runs.kind}/${next.id}`)
      if (lease) begin(next, lease)
      else elsewhere.push(next)
    }
  }

  const sweep = async (signal: AbortSignal) => {
    await runs.giveUpUploads(base.clock.now() - oldestUploadMs)
    await workOff(runs.removed, runs.clear, signal)
  }

  const jobs: ScheduledJob[] = [
    {
      name: takingUp,
      everySeconds: lookEverySeconds,
      due: async () => (await hasRoom()) && (await doOthersWait()),
      run: takeUp,
    },
    { name: sweeping, everySeconds: sweepEverySeconds, run: sweep },
  ]

  return {
    jobs,
    /** Call it after a run was started. */
    wake: () => scheduler.wake(takingUp),
    /** Call it after a run was removed. */
    wakeSweeper: () => scheduler.wake(sweeping),
    /** Leaves all runs to other processes. */
    async stop() {
      stopping.abort()
      await Promise.all(running.values().map(({ done }) => done))
    },
  }
}
