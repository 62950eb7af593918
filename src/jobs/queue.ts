import { once } from 'node:events'
import { dayMs } from '../lib/gregorian.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { faultOf, inLaterSpan, type Recorder, reportSpan } from '../lib/trace.ts'
import { type Author, ChangeSet } from '../storage/change-set.ts'
import type { Statement } from '../storage/db.ts'
import { errandStatement, type JobDraft as NextErrand, workKey } from '../storage/errand.ts'
import { isConflict, retrying, type Store } from '../storage/store.ts'
import { measureQueue } from './queue-metrics.ts'
import { deleteOldRows } from './retention/old-rows.ts'
import type { ScheduledJob } from './rounds.ts'
import { createWorkStore, type Tried, type Work } from './store.ts'

/** An errand that is carried out. Times in Unix milliseconds. */
export type Job<Payload> = Omit<Work, 'payload'> & { payload: Payload }

/** What follows from an answer: how the errand stands now, and what is written together with that. */
export type Conclusion<Payload = unknown> = {
  /** The way forth, or the way back. Committed in one piece with the end of the errand. */
  sets?: readonly ChangeSet[]
  /** Rows that are no change of anybody's records. */
  statements?: readonly Statement[]
  /** What is asked for next, where there is no set that could ask for it. */
  errands?: readonly NextErrand[]
  /** Cache keys that the statements make stale: see ChangeSet. */
  stale?: readonly string[]
  /** In words for operators; never a secret. */
  outcome?: string
} & (
  | {
      state: 'done' | 'failed'
      /** What is kept of the payload: nothing, unless it is said. */
      keep?: Payload
    }
  /** It has ended, and nothing is kept of it: for what anybody may ask for. */
  | { state: 'forgotten' }
  | {
      state: 'waiting'
      /** When to ask again; after the usual pause when absent. */
      dueAt?: number
      payload?: Payload
      /** The outside is not there at all: the others of the kind wait for the next round. */
      isOutsideDown?: boolean
    }
)

/** How errands of one kind are carried out. */
export interface JobKind<Payload, Answer = undefined> {
  kind: string
  /** How often to look for what was not told of; what is committed anywhere is told of at once. */
  everySeconds?: number
  /** How many are carried out at the same time. */
  atOnce?: number
  /** False: what is asked for waits until it is switched on. */
  isOn?(): Promise<boolean>
  /**
   * Asks the outside. What it asks carries a key made of the errand's id, so that asking again does no harm: nobody
   * knows what became of an errand whose process died. What it throws is logged, and it is asked again after a pause.
   * Absent: everything is done in `conclude`.
   */
  ask?(errand: Job<Payload>, signal: AbortSignal): Promise<Answer>
  /** What follows. Asks nobody; repeated after a lost race, with the errand as it is then. */
  conclude(errand: Job<Payload>, answer: Answer): Promise<Conclusion<Payload>> | Conclusion<Payload>
  /** Milliseconds before the next try, when `attempts` have been made. */
  pauseMs?(attempts: number): number
  /** What could not be carried out so often has failed. Without it, it is tried for ever. */
  mostAttempts?: number
  /** How long a stop waits for what is under way: until its end when absent. What has not ended by then is asked again. */
  farewellMs?: number
}

/** What is done in the background: errands of a kind, or the same again and again. */
export type AnyJob = JobKind<unknown, unknown> | ScheduledJob

type Lasting = Exclude<Conclusion, { state: 'forgotten' }>

export type Queue = ReturnType<typeof createQueue>

const never = new AbortController().signal

interface Deps {
  store: Store
  log: Log
  metrics: Metrics
  /** Takes the spans of errands, where somebody wants them. */
  recorder?: Recorder | undefined
}

const firstPauseMs = 1000
const longestPauseMs = 3_600_000

const growingPause = (attempts: number) =>
  Math.min(firstPauseMs * 2 ** Math.min(attempts - 1, 20), longestPauseMs)

// So many of a kind are looked up for each that is carried out at the same time: what comes later has its turn soon.
const looksAhead = 10
const longestOutcome = 500

/** What somebody outside said, who may say anything, as it can be noted. */
export const inOneLine = (text: string) =>
  text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, longestOutcome)

/** The first of each list, then the second of each. */
const inTurns = <T>(lists: readonly (readonly T[])[]): T[] => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, turn) =>
    lists.flatMap((list) => list.slice(turn, turn + 1)),
  ).flat()
}

/** As messages are told of in traces. */
const factsOf = ({ kind, id, attempts }: Work) => ({
  'messaging.system': 'crosspoint',
  'messaging.operation.name': 'errand',
  'messaging.operation.type': 'process',
  'messaging.destination.name': kind,
  'messaging.message.id': id,
  'crosspoint.errand_attempts': attempts + 1,
})

/** How long a job is waited for. */
interface Patience {
  /** Aborted when the server stops: no further job begins. */
  signal: AbortSignal
  /** Aborted when jobs that have begun are not waited for any longer. */
  gone: AbortSignal
}

/**
 * Everything that is asked of the outside, or done later. An errand is committed with what it follows from; it is
 * carried out at least once, by one process at a time, and how it ended is one commit with what follows from that.
 */
export const createQueue = ({ store, log, metrics, recorder }: Deps) => {
  const rows = createWorkStore(store)
  const { clock } = store
  const performers = new Map<string, (work: Work, patience: Patience) => Promise<boolean>>()
  const measures = measureQueue({ metrics, rows, clock, kinds: () => [...performers.keys()] })

  const triedAs = (
    { attempts, payload: before }: Job<unknown>,
    conclusion: Lasting,
    pauseMs: (attempts: number) => number,
  ): Tried => {
    const now = clock.now()
    const outcome = inOneLine(conclusion.outcome ?? '')
    if (conclusion.state === 'waiting') {
      const { dueAt = now + pauseMs(attempts + 1), payload = before } = conclusion
      return { state: 'waiting', dueAt, outcome, finishedAt: 0, payload: JSON.stringify(payload) }
    }
    const payload = JSON.stringify(conclusion.keep ?? {})
    return { state: conclusion.state, dueAt: 0, outcome, finishedAt: now, payload }
  }

  const commit = (
    statements: readonly Statement[],
    { sets = [], errands = [], stale = [] }: Pick<Conclusion, 'sets' | 'errands' | 'stale'>,
  ) => {
    const [last] = sets.slice(-1)
    if (!last) {
      const next = errands.map((errand) => errandStatement(errand, clock.now()))
      return store.writeUnrecorded(
        [...statements, ...next],
        [...errands.map(({ kind }) => workKey(kind)), ...stale],
      )
    }
    for (const errand of errands) last.errand(errand)
    // Behind what else is written, as in the writes that ask for errands: nobody holds what the other one waits for.
    last.statements.push(...statements)
    last.stale.push(...stale)
    return store.commit(...sets)
  }

  /** How work of a kind is done: false when the outside is not there. */
  const performerOf = <Payload, Answer>(kind: JobKind<Payload, Answer>) => {
    const { pauseMs = growingPause, mostAttempts = Number.POSITIVE_INFINITY } = kind

    const errandOf = (work: Work): Job<Payload> => ({
      ...work,
      payload: JSON.parse(work.payload),
    })

    const find = async (id: string) => {
      const work = await rows.find(kind.kind, id)
      return work && errandOf(work)
    }

    const settle = async (errand: Job<Payload>, conclusion: Conclusion<Payload>) => {
      const end =
        conclusion.state === 'forgotten'
          ? rows.forget(errand)
          : rows.tried(errand, triedAs(errand, conclusion, pauseMs))
      await commit([end, ...(conclusion.statements ?? [])], conclusion)
      measures.tried(kind.kind, conclusion.state)
      reportSpan({ 'crosspoint.errand_state': conclusion.state })
      if (conclusion.state === 'failed') reportSpan({ 'error.type': 'failed' })
    }

    /**
     * Of several who know the answer one settles it: the store decides. What was asked for again meanwhile is carried
     * out again.
     */
    const conclude = (errand: Job<Payload>, answer: Answer): Promise<boolean> =>
      retrying(async (attempt) => {
        const current = attempt === 1 ? errand : await find(errand.id)
        if (current?.state !== 'waiting') return true
        if (current.marks !== errand.marks) {
          // Not at once: what is asked for all the time would be carried out all the time.
          await store.writeUnrecorded([rows.renew(current, clock.now())])
          return true
        }
        const conclusion = await kind.conclude(current, answer)
        await settle(current, conclusion)
        return !(conclusion.state === 'waiting' && conclusion.isOutsideDown)
      })

    const postpone = async (errand: Job<Payload>, error: unknown) => {
      const facts = {
        kind: kind.kind,
        id: errand.id,
        account_id: errand.accountId,
        error: describeError(error),
      }
      log.write('error', 'an errand could not be carried out', facts)
      const outcome = error instanceof Error ? error.message : String(error)
      const state = errand.attempts + 1 < mostAttempts ? 'waiting' : 'failed'
      try {
        await settle(errand, { state, outcome })
        reportSpan({ 'error.type': faultOf(error) })
      } catch (late) {
        if (!isConflict(late)) throw late
      }
    }

    return async (work: Work, { signal, gone }: Patience): Promise<boolean> => {
      const errand = errandOf(work)
      const leave = measures.enter(kind.kind)
      try {
        // Kinds without `ask` have undefined as their answer.
        const answer = (await kind.ask?.(errand, signal)) as Answer
        if (gone.aborted) return false
        return await conclude(errand, answer)
      } catch (error) {
        // Whoever stops the server ends what is under way: it is nobody's fault, and carried out by the next one.
        if (!signal.aborted) await postpone(errand, error)
        return true
      } finally {
        leave()
      }
    }
  }

  const carryOutAll = async (
    batch: readonly Work[],
    { kind, atOnce }: { kind: string; atOnce: number },
    patience: Patience,
  ) => {
    const perform = performerFor(kind)
    const waiting = batch.values()
    const failures: unknown[] = []
    let isUp = true
    const work = async () => {
      for (const next of waiting) {
        if (!isUp || patience.signal.aborted) return
        try {
          if (!(await perform(next, patience))) isUp = false
        } catch (error) {
          isUp = false
          failures.push(error)
        }
      }
    }
    // What is under way is seen to its end, also when the store has failed.
    const over = new AbortController()
    const ends = Promise.all(Array.from({ length: atOnce }, work)).finally(() => over.abort())
    await Promise.race([ends, once(patience.gone, 'abort', { signal: over.signal }).catch(() => undefined)])
    if (failures.length > 0) throw failures[0]
    return isUp
  }

  const passOver = async (
    { kind, atOnce, farewellMs }: { kind: string; atOnce: number; farewellMs: number | undefined },
    signal: AbortSignal,
  ) => {
    const farewell = new AbortController()
    const begin = () => setTimeout(() => farewell.abort(), farewellMs).unref()
    if (farewellMs !== undefined) signal.addEventListener('abort', begin, { once: true })
    const patience = { signal, gone: farewell.signal }
    // What is asked for from here on comes with the next pass: a kind that is asked for all the time has no end.
    const now = clock.now()
    const size = atOnce * looksAhead
    let after = ''
    // What is due in many accounts may all wait for something else of its subjects.
    let isIdleLap = true
    while (!signal.aborted) {
      const accounts = await rows.accounts(kind, now, after, size)
      // Some of each account: none has to wait until all jobs of another one are done.
      const each = Math.max(1, Math.floor(size / Math.max(accounts.length, 1)))
      const batch = inTurns(await Promise.all(accounts.map((id) => rows.due(kind, id, now, each))))
      if (batch.length > 0) isIdleLap = false
      if (!(await carryOutAll(batch, { kind, atOnce }, patience))) return
      const isLapOver = accounts.length < size
      if (isLapOver && isIdleLap) return
      if (isLapOver) isIdleLap = true
      after = isLapOver ? '' : (accounts.at(-1) ?? '')
    }
  }

  const performerFor = (kind: string) => {
    const performer = performers.get(kind)
    if (!performer) throw new Error(`nobody carries out errands of the kind ${kind}`)
    const span = { name: `errand ${kind}`, kind: 'consumer' } as const
    return (work: Work, patience: Patience) =>
      inLaterSpan(recorder, { ...span, facts: factsOf(work), causes: work.trace ? [work.trace] : [] }, () =>
        performer(work, patience),
      )
  }

  return {
    /** The round of a job. Errands of a kind are carried out in one that has the kind's name. */
    round(kind: AnyJob): ScheduledJob {
      if ('run' in kind) return kind
      const { everySeconds = 5, atOnce = 4, farewellMs } = kind
      const isOn = async () => (kind.isOn ? kind.isOn() : true)
      if (performers.has(kind.kind)) throw new Error(`two kinds of errands are called ${kind.kind}`)
      performers.set(kind.kind, performerOf(kind))
      return {
        name: kind.kind,
        everySeconds,
        due: async () => (await isOn()) && (await rows.isAnyDue(kind.kind, clock.now())),
        async run(signal) {
          if (await isOn()) await passOver({ kind: kind.kind, atOnce, farewellMs }, signal)
        },
      }
    },

    /**
     * Carries out an errand that was just committed, for somebody who waits for its end. It must not be due at once:
     * else the round is at it too. Answers with how it stands then: it may still wait, and it does while something of
     * its subject comes before it.
     */
    async now(kind: string, id: string): Promise<Work | undefined> {
      const work = await rows.find(kind, id)
      if (work?.state !== 'waiting' || (await rows.isBehind(work))) return work
      await performerFor(kind)(work, { signal: never, gone: never })
      return rows.find(kind, id)
    },

    find: rows.find,
    page: rows.page,

    /** What of a kind waits for an account, whenever it is due. */
    waiting: rows.waiting,

    /** Has something that waits tried at once, whatever it waits for. */
    async retry(author: Author, { kind, id, accountId }: Pick<Work, 'kind' | 'id' | 'accountId'>) {
      const set = new ChangeSet(author)
      set.record({ accountId, kind: 'work', id: `${kind}/${id}`, action: 'edited' })
      set.statements.push(rows.hurry(kind, id, clock.now()))
      set.stale.push(workKey(kind))
      await store.commit(set)
    },

    /** Deletes what ended longer ago than operators want to know of. */
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
