import { type Actor, accountKind } from '../../../auth/identity.ts'
import { accountMember, superduper } from '../../../auth/policies.ts'
import { type BatchDeps, createBatches } from '../../../batches/batches.ts'
import type { BatchRun, RunKey, RunState } from '../../../batches/store.ts'
import { plainCsvLine } from '../../../lib/csv.ts'
import { badIdentifier, badIdentifierList, failure, forbidden } from '../../../lib/failure.ts'
import { dayMs, gregorianNow } from '../../../lib/gregorian.ts'
import type { Mail } from '../../../mail/mail.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet, type ClaimHolder } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Quotas } from '../../accounts/quotas/operations.ts'
import type { TaskAction, TaskReader } from './actions.ts'
import { createTaskImporter } from './adopting.ts'
import { inputBytes, inputRows, outputText, shownColumns } from './files.ts'
import { csvWithHeader } from './intake.ts'
import { createMaker, type Origin, type TaskOrder } from './making.ts'
import { helpText, invalidTaskRequest, isPossible, refusalReasons, secondsLeft } from './rules.ts'
import { createTaskRunner } from './running/runner.ts'
import { taskSettings } from './settings.ts'
import { createTaskStore, type TaskRecord } from './store.ts'

export type {
  Cells,
  ChargePreview,
  InputAction,
  OutputAction,
  OutputPart,
  OutputRow,
  PreviewedCharge,
  RowEnd,
  RowResult,
  TaskAction,
  TaskContext,
  TaskRow,
} from './actions.ts'
export type { TaskInput, TaskOrder } from './making.ts'
export type { TaskRecord } from './store.ts'

interface Deps extends BatchDeps {
  store: Store
  settings: Settings
  mail: Pick<Mail, 'notify'>
  quotas: Pick<Quotas, 'requireRoomForInput'>
  actions: readonly TaskAction[]
}

type Remake = Pick<TaskOrder, 'actor' | 'author' | 'account'>

export type TaskView = Record<string, unknown>

const removedAtOnce = 50

const retentionAuthor: Author = { requestId: 'task-retention' }

export type Tasks = ReturnType<typeof createTasks>

export const createTasks = (tools: Deps) => {
  const { store: base, settings, log, node, actions } = tools
  const { clock } = base
  const store = createTaskStore(base)
  const { tasks, runs } = store

  const find = (category: string, action: string) =>
    actions.find((known) => known.category === category && known.action === action)

  const batches = createBatches({
    ...tools,
    base,
    runs,
    maxConcurrentRuns: async () => (await settings.of(taskSettings)).max_running,
    work: createTaskRunner({ ...tools, base, store, find }),
  })

  const make = createMaker({ base, store, actions, find, log, ...tools.quotas })

  /** While a task runs and after a stop, its counters are those of the run. */
  const viewOf = ({ id, created, doc }: TaskRecord, run: BatchRun | undefined, pauseMs: number): TaskView => {
    const counted = run && (doc.status === 'executing' || doc.status === 'stopped')
    const progress = run && { total: doc.total_count, done: run.done, workedMs: run.workedMs, pauseMs }
    return {
      id,
      ...doc,
      created,
      ...(counted ? { success_count: run.succeeded, failure_count: run.failed } : {}),
      ...(counted && run.node ? { node: run.node } : {}),
      estimated_seconds_left: progress && doc.status === 'executing' ? secondsLeft(progress) : undefined,
    }
  }

  const pauseMs = async () => (await settings.of(taskSettings)).wait_after_row_ms

  const view = async (task: TaskRecord) => viewOf(task, await runs.run(task), await pauseMs())

  /** The charges of a dry run for the accounts that the reader may see. */
  const chargesFor = async (task: TaskRecord, reader: Actor) => {
    const charges = task.doc.dry_run ? await store.charges(task) : undefined
    if (!charges) return {}
    const payers = await Promise.all(
      charges.map(({ account_id: id }) => base.records.find(id, accountKind, id)),
    )
    return { charges: charges.filter((_, at) => accountMember.allows(reader, payers[at], {})) }
  }

  const viewFor = async (task: TaskRecord, reader: Actor): Promise<TaskView> => ({
    ...(await view(task)),
    ...(await chargesFor(task, reader)),
  })

  const refuse = ({ id }: TaskRecord, reason: string) => failure(badIdentifier, { cause: id, reason })

  const requirePossible = (task: TaskRecord, operation: keyof typeof refusalReasons) => {
    if (!isPossible(operation, task.doc.status)) throw refuse(task, refusalReasons[operation])
  }

  const failedRows = async function* (task: TaskRecord) {
    for await (const { content } of runs.parts.read(task, 'failed')) yield content
  }

  /** The rows of an input after `count`, unchanged. */
  const rowsBehind = async function* (task: TaskRecord, count: number) {
    const rows = inputRows(store, task, { key: () => '' }, count + 1)
    for await (const { values } of rows) yield Buffer.from(plainCsvLine(values))
  }

  /** A new task of the same kind. `dryRun` overrides whether it is a dry run. */
  const remake = async (origin: Origin, rows: AsyncIterable<Buffer>, by: Remake, dryRun?: boolean) => {
    const { doc, hidden } = origin.task
    const made = await make(
      {
        ...by,
        category: doc.category,
        action: doc.action,
        fileName: doc.file_name,
        input: hidden.header ? { kind: 'csv', chunks: csvWithHeader(hidden.header, rows) } : { kind: 'none' },
        dryRun: dryRun ?? doc.dry_run === true,
        parameter: () => undefined,
      },
      origin,
    )
    return view(made)
  }

  /** Fails if another task has continued the stopped one. */
  const takeRowsOver = async (set: ChangeSet, { id, accountId, doc }: TaskRecord) => {
    const stopped = doc.continuation_of && (await tasks.find(accountId, doc.continuation_of))
    if (!stopped) return
    if (stopped.doc.continued_by)
      throw failure(badIdentifier, { cause: id, reason: 'another task does these rows' })
    tasks.replace(set, stopped, tasks.revise(stopped, { doc: { ...stopped.doc, continued_by: id } }))
  }

  const actionOf = ({ doc }: TaskRecord) => find(doc.category, doc.action)

  /** Operators find tasks on system data in every account. */
  const findFor = async (accountId: string, id: string, asker: Actor | undefined) => {
    const task = await tasks.find(accountId, id)
    if (task || !asker || !superduper.allows(asker, undefined, {})) return task
    const own = await tasks.find(asker.accountId, id)
    return own && actionOf(own)?.ofSystem ? own : undefined
  }

  /** Set if the rows of a task may cost something. */
  const previewOf = (task: TaskRecord) => {
    const action = actionOf(task)
    return action?.input === 'csv' && !task.doc.dry_run ? action.foresight : undefined
  }

  const read = async (task: TaskRecord, name: string, reader: TaskReader) => {
    const missing = failure(badIdentifier, { cause: task.id })
    if (!task.doc.csvs.includes(name)) throw missing
    const action = actionOf(task)
    if (action?.readers?.allows(reader.actor, reader.account, {}) === false)
      throw failure(forbidden, {
        cause: 'the files of this task are read by those who may make such a task',
      })
    if (name === 'in.csv') return inputBytes(runs.parts.read(task, 'in.csv'))
    const run = await runs.run(task)
    if (!run) throw missing
    const isWhole = task.doc.status !== 'stopped' && !task.hidden.brokenOff
    const hidden = action?.input === 'none' ? await action.hides?.(reader) : undefined
    const shown = shownColumns(task.hidden.columns, isWhole ? run.held : '', hidden)
    return outputText(shown, runs.parts.read(task, 'out'))
  }

  const removeOld = async (key: RunKey, from: RunState) => {
    const task = await tasks.find(key.accountId, key.id)
    if (!task) return base.writeUnrecorded([runs.move(key, from, 'removed')])
    const set = new ChangeSet(retentionAuthor)
    store.remove(set, task, from)
    return base.commit(set)
  }

  /** Deletes tasks that ended, or were not started, too long ago. */
  const retain = async (signal: AbortSignal) => {
    const { keep_days: days } = await settings.of(taskSettings)
    const before = clock.now() - days * dayMs
    for (const state of ['ended', 'pending'] as const) {
      for (;;) {
        const old = await runs.inStateSince(state, before, removedAtOnce)
        for (const key of old) {
          if (signal.aborted) return
          await removeOld(key, state)
        }
        if (old.length < removedAtOnce) break
      }
    }
    batches.wakeSweeper()
  }

  return {
    page: tasks.page,
    adoption: createTaskImporter(store),
    jobs: [...batches.jobs, { name: 'old tasks', everySeconds: dayMs / 1000, run: retain }],
    stop: batches.stop,

    view: viewFor,

    /** Part of the removal of an account. */
    async removeWith(set: ChangeSet, { accountId }: Pick<ClaimHolder, 'accountId'>) {
      runs.removeWithAccount(set, accountId)
    },

    help(category: string | undefined, action: string | undefined) {
      const asked = actions.filter(
        (known) => (!category || known.category === category) && (!action || known.action === action),
      )
      if (asked.length === 0 || (action && !category))
        throw failure(invalidTaskRequest, { data: { message: 'invalid request' } })
      const help = helpText(asked)
      return { tasks: category && action ? { ...help, ...help[category] } : help }
    },

    /** Throws the 404 that lists the missing id. */
    async get(accountId: string, id: string, asker?: Actor): Promise<TaskRecord> {
      const task = await findFor(accountId, id, asker)
      if (!task) throw failure(badIdentifierList, { values: [id] })
      return task
    },

    /** Throws the 404 that says why the task cannot be operated. */
    async toOperate(accountId: string, id: string, asker: Actor): Promise<TaskRecord> {
      const task = await findFor(accountId, id, asker)
      if (!task) throw failure(badIdentifier, { cause: id, reason: 'task not found' })
      return task
    },

    async views(page: readonly TaskRecord[]): Promise<TaskView[]> {
      const ids = page.map(({ id }) => id).sort()
      const [first, lowest, highest] = [page[0], ids[0], ids.at(-1)]
      if (!first || !lowest || !highest) return []
      const found = await runs.runsBetween(first.accountId, lowest, highest)
      const pause = await pauseMs()
      return page.map((task) => viewOf(task, found.get(task.id), pause))
    },

    make: async (order: TaskOrder) => view(await make(order)),

    /** A new task from the failed rows. `dryRun` overrides whether it is a dry run. */
    async retry(task: TaskRecord, by: Remake, dryRun?: boolean) {
      requirePossible(task, 'retry')
      const run = await runs.run(task)
      const rowCount = task.hidden.header ? (run?.failed ?? 0) : 0
      if (rowCount === 0) throw refuse(task, 'task has no failed rows')
      return remake({ task, how: 'retry', rowCount }, failedRows(task), by, dryRun)
    },

    /** A new task from the rows after a stop; without input, from the end of the output. */
    async continue(task: TaskRecord, by: Remake) {
      requirePossible(task, 'continue')
      const { done = 0, position } = (await runs.run(task)) ?? {}
      const { rowsBefore: before = { taskId: task.id, count: 0 } } = task.hidden
      const rowCount = task.doc.total_count === undefined ? undefined : task.doc.total_count - done
      if (rowCount === 0) throw refuse(task, 'task has reached all of its rows')
      const rowsBefore = { ...before, count: before.count + done }
      const origin: Origin = { task, how: 'continue', rowCount, rowsBefore, position }
      return remake(origin, rowsBehind(task, done), by)
    },

    /**
     * Any process with capacity picks the task up. Without `acceptsCharges`, rows fail that charge the account which
     * made the task. A row also fails if its price has risen since the start or the dry run.
     */
    async start(author: Author, task: TaskRecord, acceptsCharges = true): Promise<TaskView> {
      requirePossible(task, 'start')
      const preview = previewOf(task)
      const doc = {
        ...task.doc,
        status: 'executing' as const,
        start_timestamp: gregorianNow(clock),
        node,
        ...(preview ? { accept_charges: acceptsCharges } : {}),
      }
      const { authAccountId: accountId, authUserId: userId } = author
      const starter = accountId && userId ? { starter: { accountId, userId } } : {}
      const after = tasks.revise(task, { doc, hidden: { ...task.hidden, ...starter } })
      const set = new ChangeSet(author)
      store.move(set, task, after, 'pending', 'executing')
      if (preview && (await store.terms(task)) === undefined)
        store.keepTerms(set, task, await preview.terms(task.doc.auth_account_id))
      await takeRowsOver(set, task)
      await base.commit(set)
      batches.wake()
      return viewOf(after, undefined, 0)
    },

    /** Stops a task. No further row runs after this resolves, in any process. */
    async halt(author: Author, task: TaskRecord): Promise<TaskView> {
      requirePossible(task, 'stop')
      const doc = {
        ...task.doc,
        status: 'stopped' as const,
        end_timestamp: gregorianNow(clock),
        csvs: [...task.doc.csvs, 'out.csv'],
      }
      const after = tasks.revise(task, { doc })
      const set = new ChangeSet(author)
      store.move(set, task, after, 'executing', 'ended')
      await base.commit(set)
      return view(after)
    },

    async remove(author: Author, task: TaskRecord, by: Actor): Promise<TaskView> {
      requirePossible(task, 'remove')
      const last = await viewFor(task, by)
      const set = new ChangeSet(author)
      store.remove(set, task, task.doc.status === 'pending' ? 'pending' : 'ended')
      await base.commit(set)
      batches.wakeSweeper()
      return last
    },

    read,
  }
}
