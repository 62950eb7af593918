import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { accountKind, userKind } from '../../../../auth/identity.ts'
import { endsTheWork, type RunProgress } from '../../../../batches/batches.ts'
import { Failure } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { describeError } from '../../../../lib/log.ts'
import { type Mail, recipient } from '../../../../mail/mail.ts'
import { ChangeSet } from '../../../../storage/change-set.ts'
import { isConflict, retrying, type Store } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import type { InputAction, OutputAction, TaskAction, TaskContext } from '../actions.ts'
import { batchesOf, type InputRow, inputRows } from '../files.ts'
import { statusTexts, taskFinishedNotice } from '../notices.ts'
import { createRepeats, finalStatus } from '../rules.ts'
import { taskSettings } from '../settings.ts'
import { type TaskRecord, type TaskStore, taskAuthorOf } from '../store.ts'
import {
  changesBefore,
  changesOfRows,
  endAll,
  entryOfRows,
  failedRow,
  type OpenVerdict,
  type RowVerdict,
  taskContextOf,
  validateRows,
} from './judging.ts'

interface Deps extends DepsOf<'settings' | 'log' | 'metrics'> {
  base: Store
  store: TaskStore
  mail: Pick<Mail, 'notify'>
  find(category: string, action: string): TaskAction | undefined
}

/** `broken`: ended early. `crashed`: the progress is unknown. */
type End = 'complete' | 'broken' | 'crashed'

/**
 * Lets pending requests run between batches. A request takes two turns of the event loop: the first one refreshes
 * caches.
 */
const letRequestsRun = async () => {
  await nextTurn()
  await nextTurn()
}

/** States of earlier rows in a dry run, for keys that repeat. */
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

interface TaskWork<A extends TaskAction = TaskAction> {
  task: TaskRecord
  action: A
  progress: RunProgress
}

interface Judging extends TaskWork<InputAction> {
  context: TaskContext
  overlay: Overlay
}

interface Core extends Deps {
  logCrash(task: TaskRecord, error: unknown): void
  pauseAfterRow(signal: AbortSignal): Promise<void>
}

/** Works on rows. Returns false if the task ends with them. */
const createRowWork = ({ base, logCrash }: Core) => {
  const { clock } = base

  const enter = async (judging: Judging, verdicts: readonly RowVerdict[], begunAt: number) => {
    if (verdicts.length === 0) return
    const { task, action, progress, context, overlay } = judging
    // Stored with the rows, so that it survives a crash.
    const detail = context.dryRun
      ? await action.foresight?.add(progress.run.detail, changesOfRows(verdicts))
      : undefined
    const workedMs = Math.max(0, clock.now() - begunAt)
    await progress.enter({ ...entryOfRows(task, action, verdicts), workedMs, detail })
    overlay.note(verdicts)
  }

  const attempt = async (judging: Judging, rows: readonly InputRow[]): Promise<boolean> => {
    const { task, action, progress, context, overlay } = judging
    const begunAt = clock.now()
    const { crash, verdicts, isOver } = await validateRows(action, rows, context, overlay.earlier)
    if (crash) logCrash(task, crash.error)
    await letRequestsRun()
    // External requests come before the commit of the rows: after a crash they are repeated.
    const changes = changesBefore(verdicts)
    if (changes.length > 0) await progress.prepare(changes)
    await enter(judging, await endAll(verdicts), begunAt)
    return !isOver
  }

  const attemptAlone = async (judging: Judging, row: InputRow): Promise<boolean> => {
    try {
      return await retrying(async (times) => {
        if (times > 1) await base.fence()
        return attempt(judging, [row])
      })
    } catch (error) {
      if (endsTheWork(error)) throw error
      const isFailed = error instanceof Failure
      if (!isFailed) logCrash(judging.task, error)
      const text = isFailed ? (judging.action.errorOf?.(error) ?? error.kind.name) : 'applier crashed'
      await enter(judging, [failedRow(row, text)], clock.now())
      return isFailed
    }
  }

  /** A batch that fails is repeated row by row, so that only the faulty row fails. */
  return async (judging: Judging, rows: readonly InputRow[]): Promise<boolean> => {
    try {
      if (rows.length > 1) return await attempt(judging, rows)
    } catch (error) {
      if (endsTheWork(error)) throw error
    }
    for (const row of rows) {
      if (!(await judging.progress.mayGoOn())) return true
      if (!(await attemptAlone(judging, row))) return false
    }
    return true
  }
}

/** Returns undefined if another process continues. */
const createInputWork = (core: Core) => {
  const { base, store, settings, pauseAfterRow } = core
  const workOn = createRowWork(core)

  const batches = ({ task, action }: TaskWork<InputAction>, first: number) =>
    batchesOf(inputRows(store, task, action, first), async () => {
      const { rows_at_once: most, wait_after_row_ms: waitMs } = await settings.of(taskSettings)
      return waitMs > 0 ? 1 : Math.min(most, action.rowsAtOnce ?? most)
    })

  /** The overlay of a dry run that another process began: its rows are validated again. */
  const recall = async (work: TaskWork<InputAction>, context: TaskContext) => {
    const { task, action, progress } = work
    const total = task.doc.total_count ?? 0
    const overlay = await createOverlay(context.dryRun ? inputRows(store, task, action, 1) : undefined, total)
    if (!context.dryRun || progress.run.done === 0) return overlay
    for await (const batch of batches(work, 1)) {
      const rows = batch.filter(({ number, key }) => number <= progress.run.done && overlay.repeats.has(key))
      if (rows.length > 0) overlay.note((await validateRows(action, rows, context, overlay.earlier)).verdicts)
      if ((batch.at(-1)?.number ?? 0) >= progress.run.done) break
    }
    return overlay
  }

  return async (work: TaskWork<InputAction>): Promise<End | undefined> => {
    const { task, action, progress } = work
    const terms = await store.terms(task)
    let overlay: Overlay | undefined
    for await (const rows of batches(work, progress.run.done + 1)) {
      if (!(await progress.mayGoOn())) return undefined
      const context = await taskContextOf(base, task, action, terms)
      if (!context) {
        const [row] = rows
        if (row) await progress.enter(entryOfRows(task, action, [failedRow(row, 'forbidden')]))
        return 'broken'
      }
      await letRequestsRun()
      overlay ??= await recall(work, context)
      if (!(await workOn({ ...work, context, overlay }, rows))) return 'broken'
      await pauseAfterRow(progress.signal)
    }
    return (await progress.mayGoOn()) ? 'complete' : undefined
  }
}

const runOutput = (
  { task, action, progress }: TaskWork<OutputAction>,
  { base, pauseAfterRow }: Core,
): Promise<End | undefined> =>
  retrying(async () => {
    const { clock } = base
    const context = await taskContextOf(base, task, action)
    if (!context) {
      await progress.enter({ failed: 1 })
      return 'broken'
    }
    let begunAt = clock.now()
    for await (const part of action.parts(context, progress.run.position)) {
      const { rows, failed = 0, changes = [], position } = part
      const workedMs = Math.max(0, clock.now() - begunAt)
      if (!(await progress.mayGoOn())) return undefined
      await progress.enter({
        succeeded: rows.length - failed,
        failed,
        output: { columns: task.hidden.columns, rows },
        changes: context.dryRun ? [] : changes,
        position,
        workedMs,
      })
      await pauseAfterRow(progress.signal)
      begunAt = clock.now()
    }
    return 'complete'
  })

/** Stores the end of a task, and reports it. */
const createFinish = ({ base, store, metrics, mail, find }: Deps) => {
  const { clock, records } = base
  const finished = metrics.counter({
    name: 'crosspoint_tasks_finished_total',
    help: 'Finished tasks, by result; without stopped ones.',
    labels: ['status'],
  })

  /** Mails the user who started the task. A start by API key sends no mail. */
  const addMail = async (set: ChangeSet, { id, accountId, doc, hidden }: TaskRecord) => {
    const { starter } = hidden
    const user = starter && (await records.find(starter.accountId, userKind, starter.userId))
    const account = await records.find(accountId, accountKind, accountId)
    if (!user?.doc.email || !account) return
    const home = await records.find(user.accountId, accountKind, user.accountId)
    await mail.notify(set, {
      notice: taskFinishedNotice,
      account,
      to: [recipient(user.doc.email, home ?? account, user)],
      accountOfThose: user.accountId,
      values: {
        'task.id': id,
        'task.category': doc.category,
        'task.action': doc.action,
        'task.file_name': doc.file_name ?? '',
        'task.status': statusTexts[doc.status],
        'task.success_count': String(doc.success_count ?? 0),
        'task.failure_count': String(doc.failure_count ?? 0),
      },
    })
  }

  return async (task: TaskRecord, progress: RunProgress, end: End) => {
    const { succeeded, failed, detail, node } = progress.run
    const { accountId, id, doc, hidden } = task
    const action = find(doc.category, doc.action)
    const counts = end === 'crashed' ? { succeeded: undefined, failed: undefined } : { succeeded, failed }
    const status = finalStatus({ total: doc.total_count, ...counts })
    const after = store.tasks.revise(task, {
      doc: {
        ...doc,
        status,
        end_timestamp: gregorianNow(clock),
        success_count: succeeded,
        failure_count: failed,
        node,
        csvs: [...doc.csvs, 'out.csv'],
      },
      hidden: end === 'complete' ? hidden : { ...hidden, brokenOff: true },
    })
    const set = new ChangeSet(taskAuthorOf(task))
    store.tasks.replace(set, task, after)
    const type = status === 'success' || status === 'partial' ? 'task.finished' : 'task.failed'
    set.happened({ accountId, type, kind: 'task', id, after: after.docText })
    if (doc.dry_run && end !== 'crashed' && action?.input === 'csv' && action.foresight) {
      store.keepJson(set, task, 'charges', await action.foresight.priced(detail))
      store.keepJson(set, task, 'terms', await action.foresight.terms(doc.auth_account_id))
    }
    await addMail(set, after)
    await progress.end(set)
    finished.labels(status).inc()
  }
}

export const createTaskRunner = (deps: Deps) => {
  const { store, settings, log, find } = deps
  const core: Core = {
    ...deps,

    logCrash: (task, error) =>
      log.write('error', 'a task crashed', {
        task_id: task.id,
        account_id: task.accountId,
        category: task.doc.category,
        action: task.doc.action,
        error: describeError(error),
      }),

    async pauseAfterRow(signal) {
      const { wait_after_row_ms: waitMs } = await settings.of(taskSettings)
      if (waitMs === 0) return
      await sleep(waitMs, undefined, { signal }).catch((error) => {
        if (!signal.aborted) throw error
      })
    },
  }
  const runInput = createInputWork(core)
  const finish = createFinish(deps)

  const perform = (task: TaskRecord, progress: RunProgress) => {
    const { category, action: name } = task.doc
    const action = find(category, name)
    if (!action) throw new Error(`there is no action ${category}.${name}`)
    return action.input === 'csv'
      ? runInput({ task, action, progress })
      : runOutput({ task, action, progress }, core)
  }

  /** Works until the task ends, is stopped, or another process takes over. */
  return async (progress: RunProgress): Promise<void> => {
    const task = await store.tasks.find(progress.run.accountId, progress.run.id)
    if (!task) return
    try {
      const end = await perform(task, progress)
      if (end) await finish(task, progress, end)
    } catch (error) {
      if (endsTheWork(error) || isConflict(error)) throw error
      core.logCrash(task, error)
      await finish(task, progress, 'crashed')
    }
  }
}
