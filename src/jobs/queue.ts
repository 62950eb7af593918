import { once } from 'node:events'
import { dayMs } from '../lib/gregorian.ts'
import { inParallel } from '../lib/in-parallel.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { faultOf, inLaterSpan, type Recorder, reportSpan } from '../lib/trace.ts'
import { type Author, ChangeSet } from '../storage/change-set.ts'
import type { Statement } from '../storage/db.ts'
import type { JobDraft } from '../storage/job-draft.ts'
import { jobStatement, workKey } from '../storage/job-draft.ts'
import { isConflict, retrying, type Store } from '../storage/store.ts'
import { measureQueue } from './queue-metrics.ts'
import { deleteOldRows, type ScheduledJob } from './scheduler.ts'
import { createWorkStore, type Work, type WorkStore } from './store.ts'

/** A job with parsed payload. Times in Unix milliseconds. */
export type Job<Payload> = Omit<Work, 'payload'> & { payload: Payload }

/** The result of a job, and what is written together with it. */
export type Conclusion<Payload = unknown> = {
  /** Committed together with the end of the job. */
  sets?: readonly ChangeSet[]
  /** Writes without audit entries. */
  statements?: readonly Statement[]
  /** Further jobs, if there is no set to add them to. */
  jobs?: readonly JobDraft[]
  /** Cache keys that the statements make stale: see ChangeSet. */
  stale?: readonly string[]
  /** For operators; never a secret. */
  outcome?: string
} & (
  | {
      state: 'done' | 'failed'
      /** Part of the payload to store after the job. Default: nothing. */
      keep?: Payload
    }
  /** The job is deleted: for kinds that anyone can create. */
  | { state: 'forgotten' }
  | {
      state: 'waiting'
      /** Default: after the usual pause. */
      dueAt?: number
      payload?: Payload
      /** The external system is down: other jobs of the kind wait for the next pass. */
      isOutsideDown?: boolean
    }
)

export interface JobKind<Payload, Answer = undefined> {
  kind: string
  /** How often to look for due jobs. Committed jobs also wake the scheduler. */
  everySeconds?: number
  /** Maximum number of concurrent jobs. */
  maxConcurrent?: number
  /** While false, jobs wait. */
  isOn?(): Promise<boolean>
  /**
   * Sends the external request, with a key made of the job's id, so that a repeat is harmless. Errors are logged, and
   * the job is retried after a pause. Default: nothing is sent.
   */
  ask?(job: Job<Payload>, signal: AbortSignal): Promise<Answer>
  /** Computes the result, without external requests. Repeated after a conflict with the current job. */
  conclude(job: Job<Payload>, answer: Answer): Promise<Conclusion<Payload>> | Conclusion<Payload>
  /** Milliseconds before the next try after `attempts`. */
  pauseMs?(attempts: number): number
  /** The job fails after this many attempts. Default: unlimited. */
  maxAttempts?: number
  /** How long a stop waits for running jobs. Default: until they end. Unfinished ones are repeated. */
  stopTimeoutMs?: number
}

export type AnyJob = JobKind<unknown, unknown> | ScheduledJob

export type Queue = ReturnType<typeof createQueue>

const neverAborted = new AbortController().signal

interface Deps {
  store: Store
  log: Log
  metrics: Metrics
  recorder?: Recorder | undefined
}

const firstRetryPauseMs = 1000
const maxRetryPauseMs = 3_600_000

const growingPause = (attempts: number) =>
  Math.min(firstRetryPauseMs * 2 ** Math.min(attempts - 1, 20), maxRetryPauseMs)

// Jobs that are read for each concurrent one.
const looksAhead = 10
const maxOutcomeLength = 500

/** External text as one line of bounded length. */
export const inOneLine = (text: string) =>
  text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, maxOutcomeLength)

/** The first of each list, then the second of each. */
const inTurns = <T>(lists: readonly (readonly T[])[]): T[] => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, turn) =>
    lists.flatMap((list) => list.slice(turn, turn + 1)),
  ).flat()
}

const spanFactsOf = ({ kind, id, attempts }: Work) => ({
  'messaging.system': 'crosspoint',
  'messaging.operation.name': 'job',
  'messaging.operation.type': 'process',
  'messaging.destination.name': kind,
  'messaging.message.id': id,
  'crosspoint.job_attempts': attempts + 1,
})

interface StopSignals {
  /** Aborted when the server stops: no further job starts. */
  signal: AbortSignal
  /** Aborted when the stop no longer waits for running jobs. */
  gone: AbortSignal
}

/** Runs a job. False if the external system is down. */
type Performer = (work: Work, signals: StopSignals) => Promise<boolean>

interface Core extends Omit<Deps, 'metrics'> {
  rows: WorkStore
  measures: ReturnType<typeof measureQueue>
}

const commit = (
  store: Store,
  statements: readonly Statement[],
  { sets = [], jobs = [], stale = [] }: Pick<Conclusion, 'sets' | 'jobs' | 'stale'>,
) => {
  const last = sets.at(-1)
  if (!last) {
    const next = jobs.map((job) => jobStatement(job, store.clock.now()))
    return store.writeUnrecorded(
      [...statements, ...next],
      [...jobs.map(({ kind }) => workKey(kind)), ...stale],
    )
  }
  for (const job of jobs) last.job(job)
  // After the other writes, in the same order as other writers: no deadlock.
  last.statements.push(...statements)
  last.stale.push(...stale)
  return store.commit(...sets)
}

const performerOf = <Payload, Answer>(
  kind: JobKind<Payload, Answer>,
  { store, log, rows, measures }: Core,
): Performer => {
  const { pauseMs = growingPause, maxAttempts = Number.POSITIVE_INFINITY } = kind
  const { clock } = store

  const jobOf = (work: Work): Job<Payload> => ({ ...work, payload: JSON.parse(work.payload) })

  const endOf = (job: Job<Payload>, conclusion: Conclusion<Payload>): Statement => {
    if (conclusion.state === 'forgotten') return rows.forget(job)
    const now = clock.now()
    const outcome = inOneLine(conclusion.outcome ?? '')
    if (conclusion.state !== 'waiting') {
      const { state, keep: payload = {} } = conclusion
      return rows.tried(job, { state, dueAt: 0, outcome, finishedAt: now, payload })
    }
    const { state, dueAt = now + pauseMs(job.attempts + 1), payload = job.payload } = conclusion
    return rows.tried(job, { state, dueAt, outcome, finishedAt: 0, payload })
  }

  const settle = async (job: Job<Payload>, conclusion: Conclusion<Payload>) => {
    await commit(store, [endOf(job, conclusion), ...(conclusion.statements ?? [])], conclusion)
    measures.tried(kind.kind, conclusion.state)
    reportSpan({ 'crosspoint.job_state': conclusion.state })
    if (conclusion.state === 'failed') reportSpan({ 'error.type': 'failed' })
  }

  /** The store decides which of several concurrent results counts. A job that was requested again runs again. */
  const conclude = (job: Job<Payload>, answer: Answer): Promise<boolean> =>
    retrying(async (attempt) => {
      const work = attempt === 1 ? undefined : await rows.find(kind.kind, job.id)
      const current = attempt === 1 ? job : work && jobOf(work)
      if (current?.state !== 'waiting') return true
      if (current.marks !== job.marks) {
        // Not at once: a job that is requested constantly would run constantly.
        await store.writeUnrecorded([rows.renew(current, clock.now())])
        return true
      }
      const conclusion = await kind.conclude(current, answer)
      await settle(current, conclusion)
      return !(conclusion.state === 'waiting' && conclusion.isOutsideDown)
    })

  const postpone = async (job: Job<Payload>, error: unknown) => {
    const facts = { kind: kind.kind, id: job.id, account_id: job.accountId }
    log.write('error', 'a job failed', { ...facts, error: describeError(error) })
    const outcome = error instanceof Error ? error.message : String(error)
    const state = job.attempts + 1 < maxAttempts ? 'waiting' : 'failed'
    try {
      await settle(job, { state, outcome })
      reportSpan({ 'error.type': faultOf(error) })
    } catch (late) {
      if (!isConflict(late)) throw late
    }
  }

  return async (work, { signal, gone }) => {
    const job = jobOf(work)
    const leave = measures.enter(kind.kind)
    try {
      // Kinds without `ask` have undefined as their answer.
      const answer = (await kind.ask?.(job, signal)) as Answer
      if (gone.aborted) return false
      return await conclude(job, answer)
    } catch (error) {
      // A stop interrupts jobs; the next process repeats them.
      if (!signal.aborted) await postpone(job, error)
      return true
    } finally {
      leave()
    }
  }
}

/** Returns whether the external system is up. Running jobs finish, also after a failure of the store. */
const performAll = async (
  batch: readonly Work[],
  { maxConcurrent, perform, signals }: { maxConcurrent: number; perform: Performer; signals: StopSignals },
) => {
  let isUp = true
  const work = async (next: Work) => {
    try {
      if (!(await perform(next, signals))) isUp = false
    } catch (error) {
      isUp = false
      throw error
    }
  }
  const over = new AbortController()
  const isOver = () => !isUp || signals.signal.aborted
  const ends = inParallel(batch, maxConcurrent, work, isOver)
  const isGone = once(signals.gone, 'abort', { signal: over.signal }).catch(() => undefined)
  // Aborted after the race: an abort with the end of the jobs would win it, and their failure would be lost.
  await Promise.race([ends, isGone]).finally(() => over.abort())
  return isUp
}

interface Pass {
  kind: string
  maxConcurrent: number
  stopTimeoutMs: number | undefined
  perform: Performer
}

/** Runs the due jobs of a kind. */
const runDueJobs = async (
  { store: { clock }, rows }: Pick<Core, 'store' | 'rows'>,
  { kind, maxConcurrent, stopTimeoutMs, perform }: Pass,
  signal: AbortSignal,
) => {
  const gone = new AbortController()
  const stop = () => setTimeout(() => gone.abort(), stopTimeoutMs).unref()
  if (stopTimeoutMs !== undefined) signal.addEventListener('abort', stop, { once: true })
  const signals = { signal, gone: gone.signal }
  // Jobs requested from here on are left to the next pass: otherwise it might never end.
  const now = clock.now()
  const size = maxConcurrent * looksAhead
  let after = ''
  // The due jobs of many accounts may all wait for others of their subjects.
  let isIdleLap = true
  while (!signal.aborted) {
    const accounts = await rows.accounts(kind, now, after, size)
    // A few jobs of each account, so that no account waits for another one.
    const each = Math.max(1, Math.floor(size / Math.max(accounts.length, 1)))
    const batch = inTurns(await Promise.all(accounts.map((id) => rows.due(kind, id, now, each))))
    if (batch.length > 0) isIdleLap = false
    if (!(await performAll(batch, { maxConcurrent, perform, signals }))) return
    const isLapOver = accounts.length < size
    if (isLapOver && isIdleLap) return
    if (isLapOver) isIdleLap = true
    after = isLapOver ? '' : (accounts.at(-1) ?? '')
  }
}

/**
 * Jobs are committed with the change that causes them. Each runs at least once, in one process at a time, and its
 * result is one commit.
 */
export const createQueue = ({ metrics, ...deps }: Deps) => {
  const { store, recorder } = deps
  const { clock } = store
  const rows = createWorkStore(store)
  const performers = new Map<string, Performer>()
  const measures = measureQueue({ metrics, rows, clock, kinds: () => [...performers.keys()] })
  const core = { ...deps, rows, measures }

  const performerFor = (kind: string): Performer => {
    const performer = performers.get(kind)
    if (!performer) throw new Error(`no worker for jobs of the kind ${kind}`)
    const span = { name: `job ${kind}`, kind: 'consumer' } as const
    return (work, signals) =>
      inLaterSpan(
        recorder,
        { ...span, facts: spanFactsOf(work), causes: work.trace ? [work.trace] : [] },
        () => performer(work, signals),
      )
  }

  return {
    /** The scheduled job that runs the jobs of a kind. */
    scheduled(kind: AnyJob): ScheduledJob {
      if ('run' in kind) return kind
      const { everySeconds = 5, maxConcurrent = 4, stopTimeoutMs } = kind
      const isOn = async () => (kind.isOn ? kind.isOn() : true)
      if (performers.has(kind.kind)) throw new Error(`two kinds of jobs are called ${kind.kind}`)
      performers.set(kind.kind, performerOf(kind, core))
      const pass = { kind: kind.kind, maxConcurrent, stopTimeoutMs, perform: performerFor(kind.kind) }
      return {
        name: kind.kind,
        everySeconds,
        due: async () => (await isOn()) && (await rows.isAnyDue(kind.kind, clock.now())),
        async run(signal) {
          if (await isOn()) await runDueJobs(core, pass, signal)
        },
      }
    },

    /**
     * Runs a committed job for a caller who waits. It must not be due yet, otherwise the scheduler runs it too.
     * Returns its state: it may still wait, for example for an earlier job of its subject.
     */
    async now(kind: string, id: string): Promise<Work | undefined> {
      const work = await rows.find(kind, id)
      if (work?.state !== 'waiting' || (await rows.isBehind(work))) return work
      await performerFor(kind)(work, { signal: neverAborted, gone: neverAborted })
      return rows.find(kind, id)
    },

    find: rows.find,
    page: rows.page,

    /** Waiting jobs of a kind and account. */
    waiting: rows.waiting,

    /** Makes a waiting job due. */
    async retry(author: Author, { kind, id, accountId }: Pick<Work, 'kind' | 'id' | 'accountId'>) {
      const set = new ChangeSet(author)
      set.record({ accountId, kind: 'work', id: `${kind}/${id}`, action: 'edited' })
      set.statements.push(rows.hurry(kind, id, clock.now()))
      set.stale.push(workKey(kind))
      await store.commit(set)
    },

    tidying: (daysKept: () => Promise<number>): ScheduledJob =>
      deleteOldRows(store, {
        name: 'work outcomes',
        table: 'work',
        key: ['kind', 'id'],
        where: "state <> 'waiting' AND finished_at < $1",
        before: async () => clock.now() - (await daysKept()) * dayMs,
      }),
  }
}
