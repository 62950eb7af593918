// One task at work: rows in order, each done once, until the end, a stop, or until somebody else has to go on.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isLeaseLost, type Lease } from '../../../jobs/leases.ts'
import { createProgress, type Entry, type Progress, RunIsOver } from '../../../jobs/long-work/progress.ts'
import type { Run } from '../../../jobs/long-work/store.ts'
import { Failure, isOutage } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import type { Metrics } from '../../../lib/metrics.ts'
import type { Settings } from '../../../settings/settings.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { InputAction, OutputAction, TaskAction, TaskContext } from '../actions.ts'
import { createRepeats, finalStatus } from '../rules.ts'
import { taskSettings } from '../settings.ts'
import { authorOf, type TaskRecord, type TaskStore } from '../store.ts'
import { contextOf } from './errand.ts'
import { batchesOf, type InputRow, inputRows } from './input-rows.ts'
import {
  changesBefore,
  changesOf,
  endAll,
  entryOf,
  failedRow,
  type Judgement,
  judge,
  type OpenVerdict,
  type Verdict,
} from './judging.ts'

interface Tools {
  base: Store
  store: TaskStore
  settings: Settings
  log: Log
  metrics: Metrics
  find(category: string, action: string): TaskAction | undefined
  /** Adds the mail that tells of a task's end. */
  tell(set: ChangeSet, task: TaskRecord): Promise<void>
}

/** How the work came to its end. `broken`: before its time; `crashed`: so that nobody can say how far it came. */
type End = 'complete' | 'broken' | 'crashed'

// A row whose change lost this many races fails.
const mostAttempts = 5

const isConflict = (error: unknown) => error instanceof Failure && error.kind === 'datastore_conflict'

/** Somebody stopped the task, or another process has taken it over. */
const isOver = (error: unknown) => error instanceof RunIsOver || isConflict(error) || isLeaseLost(error)

/**
 * Rows are judged, and stored, in one go each. In between whoever else waits for the event loop comes: a request takes two turns, for
 * it looks in one of its own whether what it knows is new, and rows that went on behind the first would hold it up twice.
 */
const letOthersAct = async () => {
  await nextTurn()
  await nextTurn()
}

/** Between rows, unless the work has to be left. */
const pause = (milliseconds: number, signal: AbortSignal) =>
  milliseconds > 0 ? sleep(milliseconds, undefined, { signal }).catch(() => undefined) : undefined

/** What earlier rows of a dry run would have stored, for those keys that come again. */
const createOverlay = async (rows: AsyncIterable<InputRow> | undefined, total: number) => {
  const states = new Map<string, unknown>()
  const repeats = createRepeats(rows ? total : 0)
  if (rows) for await (const { key } of rows) repeats.add(key)
  return {
    repeats,
    earlier: (key: string) => states.get(key),
    note(verdicts: readonly OpenVerdict[]) {
      for (const { row, result } of verdicts) {
        if (result.outcome === 'asks') continue
        if (result.state !== undefined && repeats.has(row.key)) states.set(row.key, result.state)
      }
    },
  }
}

type Overlay = Awaited<ReturnType<typeof createOverlay>>

/** Everything that the work on one task needs. */
interface Work<A extends TaskAction> {
  task: TaskRecord
  action: A
  /** The price lists that the task agrees to. They never change. */
  terms: unknown
  progress: Progress
  signal: AbortSignal
}

/** Rows on their way into the store; `done` says whether the task goes on behind them. */
interface Batch {
  rows: readonly InputRow[]
  done: Promise<boolean>
}

/** The judgement of rows that need not wait for those before them to be stored. */
const judgedEarly = (
  { action }: Work<InputAction>,
  before: Batch,
  rows: readonly InputRow[],
  context: TaskContext,
  overlay: Overlay,
): Promise<Judgement> | undefined => {
  if (!action.independent || rows.length === 1) return undefined
  const keys = new Set(before.rows.map(({ key }) => key))
  if (rows.some(({ key }) => keys.has(key))) return undefined
  const judgement = judge(action, rows, context, overlay.earlier)
  // Whoever waits for the rows before may give up instead of asking for it.
  judgement.catch(() => undefined)
  return judgement
}

export const createRunner = ({ base, store, settings, log, metrics, find, tell }: Tools) => {
  const finished = metrics.counter({
    name: 'crosspoint_tasks_finished_total',
    help: 'Tasks that ended by themselves, by how.',
    labels: ['status'],
  })
  const { clock } = base

  const logCrash = (task: TaskRecord, error: unknown) =>
    log.write('error', 'a task crashed', {
      task_id: task.id,
      account_id: task.accountId,
      category: task.doc.category,
      action: task.doc.action,
      error: describeError(error),
    })

  const enter = async (
    { action, progress }: Work<InputAction>,
    verdicts: readonly Verdict[],
    context: TaskContext,
    overlay: Overlay,
    begunAt: number,
  ) => {
    if (verdicts.length === 0) return
    // Kept with the rows: whoever goes on after a crash neither loses nor repeats what they would move.
    const detail = context.dryRun
      ? await action.foresight?.add(progress.run.detail, changesOf(verdicts))
      : undefined
    const entry = entryOf(action, verdicts, context, Math.max(0, clock.now() - begunAt))
    await progress.enter({ ...entry, detail })
    overlay.note(verdicts)
  }

  /** Rows that ask somebody outside do so before they are entered: a crash in between has them asked again. */
  const ended = async ({ progress }: Work<InputAction>, verdicts: readonly OpenVerdict[]) => {
    const changes = changesBefore(verdicts)
    if (changes.length > 0) await progress.prepare(changes)
    return endAll(verdicts)
  }

  /** Whether the task goes on behind these rows; undefined when they have to be done one by one. */
  const attempt = async (
    work: Work<InputAction>,
    rows: readonly InputRow[],
    context: TaskContext,
    overlay: Overlay,
    early?: Promise<Judgement>,
  ): Promise<boolean> => {
    const begunAt = clock.now()
    const judgement: Judgement = await (early ?? judge(work.action, rows, context, overlay.earlier))
    if (judgement.crash !== undefined) logCrash(work.task, judgement.crash)
    await letOthersAct()
    const verdicts = await ended(work, judgement.verdicts)
    await enter(work, verdicts, context, overlay, begunAt)
    return !judgement.stopped && !judgement.verdicts.some(({ isLast }) => isLast)
  }

  /** What a row gets whose work failed for good. */
  const verdictOn = ({ task, action }: Work<InputAction>, row: InputRow, error: unknown): Verdict => {
    if (error instanceof Failure) return failedRow(row, action.errorOf?.(error) ?? error.kind)
    logCrash(task, error)
    return failedRow(row, 'applier crashed', true)
  }

  const attemptAlone = async (
    work: Work<InputAction>,
    row: InputRow,
    context: TaskContext,
    overlay: Overlay,
  ): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt(work, [row], context, overlay)
      } catch (error) {
        if (error instanceof RunIsOver || isOutage(error)) throw error
        if (isConflict(error) && tries < mostAttempts) {
          await base.fence()
          continue
        }
        const verdict = verdictOn(work, row, error)
        await enter(work, [verdict], context, overlay, clock.now())
        return !verdict.isLast
      }
    }
  }

  /** A batch whose commit failed, or whose action threw, is done row by row: one row then answers for itself alone. */
  const doBatch = async (
    work: Work<InputAction>,
    rows: readonly InputRow[],
    context: TaskContext,
    overlay: Overlay,
    early?: Promise<Judgement>,
  ): Promise<boolean> => {
    const [only] = rows
    if (only && rows.length === 1) return attemptAlone(work, only, context, overlay)
    try {
      return await attempt(work, rows, context, overlay, early)
    } catch (error) {
      if (error instanceof RunIsOver || isOutage(error)) throw error
    }
    for (const row of rows) {
      if (work.signal.aborted) return true
      if (!(await attemptAlone(work, row, context, overlay))) return false
    }
    return true
  }

  const batches = ({ task, action }: Work<InputAction>, first: number) =>
    batchesOf(inputRows(store, task, action, first), async () => {
      const { rows_at_once: most, wait_after_row_ms: waitMs } = await settings.of(taskSettings)
      return waitMs > 0 ? 1 : Math.min(most, action.rowsAtOnce ?? most)
    })

  /** The overlay of a dry run that another process began: what its rows would have stored is found out again. */
  const recall = async (work: Work<InputAction>, context: TaskContext) => {
    const { task, action, progress } = work
    const total = task.doc.total_count ?? 0
    const overlay = await createOverlay(context.dryRun ? inputRows(store, task, action, 1) : undefined, total)
    if (!context.dryRun || progress.run.done === 0) return overlay
    for await (const batch of batches(work, 1)) {
      const rows = batch.filter(({ number, key }) => number <= progress.run.done && overlay.repeats.has(key))
      if (rows.length > 0) overlay.note((await judge(action, rows, context, overlay.earlier)).verdicts)
      if ((batch.at(-1)?.number ?? 0) >= progress.run.done) break
    }
    return overlay
  }

  /** Undefined when the work was left to somebody else. */
  const runInput = async (work: Work<InputAction>): Promise<End | undefined> => {
    const { task, action, terms, progress, signal } = work
    let overlay: Overlay | undefined
    let before: Batch | undefined
    try {
      for await (const rows of batches(work, progress.run.done + 1)) {
        if (signal.aborted) return undefined
        if (before && !action.independent && !(await before.done)) return 'broken'
        const context = await contextOf(base, task, action, terms)
        await letOthersAct()
        const early = context && overlay && before && judgedEarly(work, before, rows, context, overlay)
        if (before && !(await before.done)) return 'broken'
        before = undefined
        if (!context) {
          await progress.enter(forbiddenEntry(rows[0] as InputRow))
          return 'broken'
        }
        overlay ??= await recall(work, context)
        const done = doBatch(work, rows, context, overlay, early)
        // It is waited for below, at the latest when everything is over.
        done.catch(() => undefined)
        before = { rows, done }
        await pause((await settings.of(taskSettings)).wait_after_row_ms, signal)
      }
      if (before && !(await before.done)) return 'broken'
      return signal.aborted ? undefined : 'complete'
    } finally {
      await before?.done.catch(() => undefined)
    }
  }

  const enterParts = async (
    work: Work<OutputAction>,
    parts: AsyncIterable<Entry>,
  ): Promise<End | undefined> => {
    const { progress, signal } = work
    for await (const entry of parts) {
      if (signal.aborted) return undefined
      await progress.enter(entry)
      await pause((await settings.of(taskSettings)).wait_after_row_ms, signal)
    }
    return 'complete'
  }

  const partEntries = async function* ({ action }: Work<OutputAction>, context: TaskContext, run: Run) {
    let begunAt = clock.now()
    for await (const part of action.parts(context, run.position)) {
      const { rows, failed = 0, changes = [], position } = part
      yield {
        succeeded: rows.length - failed,
        failed,
        output: rows,
        failedRows: [],
        changes: context.dryRun ? [] : changes,
        position,
        workedMs: Math.max(0, clock.now() - begunAt),
      }
      begunAt = clock.now()
    }
  }

  const runOutput = async (work: Work<OutputAction>): Promise<End | undefined> => {
    for (let lostRaces = 0; ; lostRaces += 1) {
      const { task, action, progress } = work
      const context = await contextOf(base, task, action)
      if (!context) {
        await progress.enter({ ...nothing, failed: 1 })
        return 'broken'
      }
      try {
        return await enterParts(work, partEntries(work, context, progress.run))
      } catch (error) {
        if (!isConflict(error) || lostRaces === mostAttempts) throw error
      }
    }
  }

  /** Of a dry run whose rows were judged: what they would charge. */
  const chargesOf = async ({ doc }: TaskRecord, { run }: Progress, end: End) => {
    const action = find(doc.category, doc.action)
    if (!doc.dry_run || end === 'crashed' || action?.input !== 'csv') return undefined
    return action.foresight?.priced(run.detail)
  }

  const termsOf = ({ doc: { category, action: name, auth_account_id } }: TaskRecord) => {
    const action = find(category, name)
    return action?.input === 'csv' ? action.foresight?.terms(auth_account_id) : undefined
  }

  const tellEnd = (set: ChangeSet, { accountId, id, docText, doc: { status } }: TaskRecord) => {
    const type = status === 'success' || status === 'partial' ? 'task.finished' : 'task.failed'
    set.happened({ accountId, type, kind: 'task', id, after: docText })
  }

  const finish = async (task: TaskRecord, progress: Progress, end: End) => {
    const { succeeded, failed } = progress.run
    const charges = await chargesOf(task, progress, end)
    const counts = end === 'crashed' ? { succeeded: undefined, failed: undefined } : { succeeded, failed }
    const after = store.tasks.revise(task, {
      doc: {
        ...task.doc,
        status: finalStatus({ total: task.doc.total_count, ...counts }),
        end_timestamp: gregorianNow(clock),
        success_count: succeeded,
        failure_count: failed,
        node: progress.run.node,
        csvs: [...task.doc.csvs, 'out.csv'],
      },
      hidden: {
        ...task.hidden,
        ...(end === 'complete' ? {} : { brokenOff: true }),
      },
    })
    const set = new ChangeSet(authorOf(task))
    store.tasks.replace(set, task, after)
    tellEnd(set, after)
    if (charges) {
      store.keepCharges(set, task, charges)
      store.keepTerms(set, task, await termsOf(task))
    }
    progress.end(set)
    await tell(set, after)
    await base.commit(set)
    finished.of(after.doc.status).add()
  }

  const perform = async (task: TaskRecord, action: TaskAction, progress: Progress, signal: AbortSignal) =>
    action.input === 'csv'
      ? runInput({ task, action, terms: await store.terms(task), progress, signal })
      : runOutput({ task, action, terms: undefined, progress, signal })

  /** Works on a task that is executing until it ends, is stopped, or `signal` says to leave it to others. */
  return async (run: Run, lease: Lease, signal: AbortSignal): Promise<void> => {
    const task = await store.tasks.find(run.accountId, run.id)
    if (!task) return
    const { columns } = task.hidden
    const progress = createProgress({ base, runs: store.runs, lease, run, columns })
    const action = find(task.doc.category, task.doc.action)
    try {
      if (!action) throw new Error(`there is no action ${task.doc.category}.${task.doc.action}`)
      const end = await perform(task, action, progress, signal)
      if (end) await finish(task, progress, end)
    } catch (error) {
      if (isOver(error)) return
      if (isOutage(error)) throw error
      logCrash(task, error)
      await finish(task, progress, 'crashed').catch((reason) => {
        if (!isOver(reason)) throw reason
      })
    }
  }
}

const nothing: Entry = { succeeded: 0, failed: 0, output: [], failedRows: [], changes: [], workedMs: 0 }

/** The first row that may not be done any more. */
const forbiddenEntry = (row: InputRow): Entry => ({
  ...nothing,
  failed: 1,
  output: [{ ...row.cells, error: 'forbidden' }],
  failedRows: [row.values],
})
