import { type Actor, accountKind } from '../../../auth/identity.ts'
import { accountMember, superduper } from '../../../auth/policies.ts'
import { type BatchDeps, createBatches, workOff } from '../../../batches/batches.ts'
import type { BatchRun, RunKey } from '../../../batches/store.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { plainCsvLine } from '../../../lib/csv.ts'
import { badIdentifier, badIdentifierList, failure, forbidden } from '../../../lib/failure.ts'
import { dayMs, daySeconds, gregorianNow } from '../../../lib/gregorian.ts'
import type { Mail } from '../../../mail/mail.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Author, ChangeSet, ClaimHolder } from '../../../storage/change-set.ts'
import { committed, type Store } from '../../../storage/store.ts'
import type { Quotas } from '../../accounts/quotas/operations.ts'
import type { TaskAction, TaskReader } from './actions.ts'
import { createTaskImporter } from './adopting.ts'
import { contents, inputRows, outputText, shownColumns } from './files.ts'
import { csvWithHeader } from './intake.ts'
import { createMaker, type Origin, type TaskOrder } from './making.ts'
import { helpText, invalidTaskRequest, isPossible, refusalReasons, secondsLeft } from './rules.ts'
import { createTaskRunner } from './running/runner.ts'
import { taskSettings } from './settings.ts'
import { createTaskStore, type TaskRecord, type TaskStore } from './store.ts'

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

const retentionAuthor: Author = { requestId: 'task-retention' }

const refuse = ({ id }: TaskRecord, reason: string) => failure(badIdentifier, { cause: id, reason })

const requirePossible = (task: TaskRecord, operation: keyof typeof refusalReasons) => {
  if (!isPossible(operation, task.doc.status)) throw refuse(task, refusalReasons[operation])
}

interface Core extends Deps {
  tasks: TaskStore
  find(category: string, action: string): TaskAction | undefined
  actionOf(task: TaskRecord): TaskAction | undefined
  batches: ReturnType<typeof createBatches>
}

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

const createViews = ({ store, settings, tasks: { runs, charges } }: Core) => {
  const pauseMs = async () => (await settings.of(taskSettings)).wait_after_row_ms

  const bare = async (task: TaskRecord) => viewOf(task, await runs.run(task), await pauseMs())

  /** The charges of a dry run for the accounts that the reader may see. */
  const chargesFor = async (task: TaskRecord, reader: Actor) => {
    const found = task.doc.dry_run ? await charges(task) : undefined
    if (!found) return {}
    const payers = await Promise.all(
      found.map(({ account_id: id }) => store.records.find(id, accountKind, id)),
    )
    return { charges: found.filter((_, at) => accountMember.allows(reader, payers[at], {})) }
  }

  return {
    bare,

    view: async (task: TaskRecord, reader: Actor): Promise<TaskView> => ({
      ...(await bare(task)),
      ...(await chargesFor(task, reader)),
    }),

    async views(page: readonly TaskRecord[]): Promise<TaskView[]> {
      const ids = page.map(({ id }) => id).sort()
      const [first, lowest, highest] = [page[0], ids[0], ids.at(-1)]
      if (!first || !lowest || !highest) return []
      const found = await runs.runsBetween(first.accountId, lowest, highest)
      const pause = await pauseMs()
      return page.map((task) => viewOf(task, found.get(task.id), pause))
    },
  }
}

const createReading = ({ actions, actionOf, tasks: { tasks, runs } }: Core) => {
  /** Operators find tasks on system data in every account. */
  const findFor = async (accountId: string, id: string, asker: Actor | undefined) => {
    const task = await tasks.find(accountId, id)
    if (task || !asker || !superduper.allows(asker, undefined, {})) return task
    const own = await tasks.find(asker.accountId, id)
    return own && actionOf(own)?.ofSystem ? own : undefined
  }

  return {
    page: tasks.page,

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

    /** Throws the 404 with the reason why the task cannot be operated. */
    async toOperate(accountId: string, id: string, asker: Actor): Promise<TaskRecord> {
      const task = await findFor(accountId, id, asker)
      if (!task) throw failure(badIdentifier, { cause: id, reason: 'task not found' })
      return task
    },

    async read(task: TaskRecord, name: string, reader: TaskReader) {
      const missing = failure(badIdentifier, { cause: task.id })
      if (!task.doc.csvs.includes(name)) throw missing
      const action = actionOf(task)
      if (action?.readers?.allows(reader.actor, reader.account, {}) === false)
        throw failure(forbidden, {
          cause: 'only callers who may create such a task may read its files',
        })
      if (name === 'in.csv') return contents(runs.parts.read(task, 'in.csv'))
      const run = await runs.run(task)
      if (!run) throw missing
      const isWhole = task.doc.status !== 'stopped' && !task.hidden.brokenOff
      const hidden = action?.input === 'none' ? await action.hides?.(reader) : undefined
      const shown = shownColumns(task.hidden.columns, isWhole ? run.held : '', hidden)
      return outputText(shown, runs.parts.read(task, 'out'))
    },
  }
}

type Views = ReturnType<typeof createViews>

/** New tasks, also from the rows of others. */
const createMaking = (core: Core, { bare }: Views) => {
  const { store: base, tasks: store, log, actions, find, quotas } = core
  const { runs } = store
  const make = createMaker({ base, store, actions, find, log, ...quotas })

  /** The rows of an input after `count`, unchanged. */
  const rowsBehind = async function* (task: TaskRecord, count: number) {
    const rows = inputRows(store, task, { key: () => '' }, count + 1)
    for await (const { values } of rows) yield Buffer.from(plainCsvLine(values))
  }

  /** A new task of the same kind. `dryRun` overrides whether it is a dry run. */
  const remake = async (origin: Origin, rows: AsyncIterable<Uint8Array>, by: Remake, dryRun?: boolean) => {
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
    return bare(made)
  }

  return {
    make: async (order: TaskOrder) => bare(await make(order)),

    /** A new task from the failed rows. `dryRun` overrides whether it is a dry run. */
    async retry(task: TaskRecord, by: Remake, dryRun?: boolean) {
      requirePossible(task, 'retry')
      const run = await runs.run(task)
      const rowCount = task.hidden.header ? (run?.failed ?? 0) : 0
      if (rowCount === 0) throw refuse(task, 'task has no failed rows')
      return remake({ task, how: 'retry', rowCount }, contents(runs.parts.read(task, 'failed')), by, dryRun)
    },

    /** A new task from the rows after a stop; without input, from the end of the output. */
    async continue(task: TaskRecord, by: Remake) {
      requirePossible(task, 'continue')
      const { done = 0, position } = (await runs.run(task)) ?? {}
      const { rowsBefore: before = { taskId: task.id, count: 0 } } = task.hidden
      const rowCount = task.doc.total_count === undefined ? undefined : task.doc.total_count - done
      if (rowCount === 0) throw refuse(task, 'task has no remaining rows')
      const rowsBefore = { ...before, count: before.count + done }
      const origin: Origin = { task, how: 'continue', rowCount, rowsBefore, position }
      return remake(origin, rowsBehind(task, done), by)
    },
  }
}

const createControl = (
  { store: base, node, tasks: store, actionOf, batches }: Core,
  { bare, view }: Views,
) => {
  const { clock } = base
  const { tasks } = store

  /** Fails if another task has continued the stopped one. */
  const takeRowsOver = async (set: ChangeSet, task: TaskRecord) => {
    const { id, accountId, doc } = task
    const stopped = doc.continuation_of && (await tasks.find(accountId, doc.continuation_of))
    if (!stopped) return
    if (stopped.doc.continued_by) throw refuse(task, 'another task runs these rows')
    tasks.replace(set, stopped, tasks.revise(stopped, { doc: { ...stopped.doc, continued_by: id } }))
  }

  /** Set if the rows of a task may cost something. */
  const previewOf = (task: TaskRecord) => {
    const action = actionOf(task)
    return action?.input === 'csv' && !task.doc.dry_run ? action.foresight : undefined
  }

  return {
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
      await committed(base, author, async (set) => {
        store.move(set, task, after, 'pending', 'executing')
        if (preview && (await store.terms(task)) === undefined)
          store.keepJson(set, task, 'terms', await preview.terms(task.doc.auth_account_id))
        await takeRowsOver(set, task)
      })
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
      await committed(base, author, (set) => store.move(set, task, after, 'executing', 'ended'))
      return bare(after)
    },

    async remove(author: Author, task: TaskRecord, by: Actor): Promise<TaskView> {
      requirePossible(task, 'remove')
      const last = await view(task, by)
      const from = task.doc.status === 'pending' ? 'pending' : 'ended'
      await committed(base, author, (set) => store.remove(set, task, from))
      batches.wakeSweeper()
      return last
    },
  }
}

/** Deletes tasks that ended, or were not started, too long ago. */
const retentionOf = ({
  store: base,
  settings,
  tasks: { tasks, runs, remove },
  batches,
}: Core): ScheduledJob => ({
  name: 'old tasks',
  everySeconds: daySeconds,
  async run(signal) {
    const { keep_days: days } = await settings.of(taskSettings)
    const before = base.clock.now() - days * dayMs
    for (const state of ['ended', 'pending'] as const) {
      const removeOld = async (key: RunKey) => {
        const task = await tasks.find(key.accountId, key.id)
        if (task) await committed(base, retentionAuthor, (set) => remove(set, task, state))
        else await base.writeUnrecorded([runs.move(key, state, 'removed')])
      }
      await workOff((limit) => runs.inStateSince(state, before, limit), removeOld, signal)
    }
    if (!signal.aborted) batches.wakeSweeper()
  },
})

export type Tasks = ReturnType<typeof createTasks>

export const createTasks = (deps: Deps) => {
  const { store: base, settings, actions } = deps
  const tasks = createTaskStore(base)
  const { runs } = tasks

  const find = (category: string, action: string) =>
    actions.find((known) => known.category === category && known.action === action)

  const batches = createBatches({
    ...deps,
    base,
    runs,
    maxConcurrentRuns: async () => (await settings.of(taskSettings)).max_running,
    work: createTaskRunner({ ...deps, base, store: tasks, find }),
  })
  const actionOf = ({ doc }: TaskRecord) => find(doc.category, doc.action)
  const core = { ...deps, tasks, find, actionOf, batches }
  const views = createViews(core)

  return {
    view: views.view,
    views: views.views,
    ...createReading(core),
    ...createMaking(core, views),
    ...createControl(core, views),
    adoption: createTaskImporter(tasks),
    jobs: [...batches.jobs, retentionOf(core)],
    stop: batches.stop,

    /** Part of the removal of an account. */
    removeWith: async (set: ChangeSet, { accountId }: Pick<ClaimHolder, 'accountId'>) =>
      void runs.removeWithAccount(set, accountId),
  }
}
