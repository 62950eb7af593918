import type { AuthMethod } from '../../auth/identity.ts'
import type { Failure } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { type Author, type ChangeSet, conflict } from '../../storage/change-set.ts'
import { createCollection } from '../../storage/collection.ts'
import type { Statement, Value } from '../../storage/db.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { integer, oneOf, optional, type RowOf, table, text } from '../../storage/table.ts'
import { createPartStore, type Part } from './parts/store.ts'
import type { TaskStatus, Waiting } from './rules.ts'

interface TaskDoc {
  account_id: string
  auth_account_id: string
  category: string
  action: string
  status: TaskStatus
  submit_timestamp: number
  start_timestamp?: number
  end_timestamp?: number
  node?: string
  file_name?: string
  total_count?: number
  success_count?: number
  failure_count?: number
  csvs: readonly string[]
  dry_run?: true
  retry_of?: string
  parameters?: Json
}

interface TaskHidden {
  /** Who made the task: it runs with the rights of its account and user. */
  author: Author
  authMethod: AuthMethod
  authUserId?: string
  /** The user who started it, if a user did. */
  starter?: { accountId: string; userId: string }
  /** Of the input. */
  header?: readonly string[]
  /** Of the output. */
  columns: readonly string[]
  /** The work ended before its time: the output keeps all of its columns. */
  brokenOff?: true
}

export type TaskRecord = StoredRecord<TaskDoc, TaskHidden>

/** Where a task is kept. */
export interface TaskKey {
  accountId: string
  taskId: string
}

export const keyOf = ({ accountId, id }: TaskRecord): TaskKey => ({ accountId, taskId: id })

const runStates = ['uploading', 'pending', 'executing', 'ended', 'removed'] as const

/**
 * Where the work stands. `uploading`: the input arrives, there is no record yet. `removed`: nobody sees the task any
 * more, its parts are yet to go.
 */
type RunState = (typeof runStates)[number]

const taskRuns = table('task_runs', {
  accountId: text(),
  taskId: text(),
  state: oneOf(runStates),
  node: text(),
  /** Rows that are done for good, the successful and the failed ones; of actions without input rows written. */
  done: integer(),
  succeeded: integer(),
  failed: integer(),
  /** Of actions without input: where they go on. */
  position: optional(text()),
  outParts: integer(),
  failedParts: integer(),
  /** For each output column `1` when it held a value, else `0`. */
  held: text(),
  workedMs: integer(),
  /** Unix milliseconds. */
  since: integer(),
})

const runs = taskRuns.pick(
  'state',
  'node',
  'done',
  'succeeded',
  'failed',
  'position',
  'outParts',
  'failedParts',
  'held',
  'workedMs',
)

export type Run = RowOf<typeof runs>

const keys = taskRuns.pick('accountId', 'taskId')
const waitingRuns = taskRuns.pick('accountId', 'taskId', 'since')
const insertRun = taskRuns.pick('accountId', 'taskId', 'state', 'since').insert('ON CONFLICT DO NOTHING')
// Waiting tasks of one account that are looked at for the next to run: more than one process runs at once.
const waitingLookedAt = 50

/** Tasks, how far they have come, and their input and output. */
export const createTaskStore = (store: Store) => {
  const { clock, all, scan, writeUnrecorded } = store
  const parts = createPartStore(store)
  const collection = createCollection<TaskDoc, TaskHidden>(store, {
    kind: 'task',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

  /** Moves a run from one state to the next; `orElse` when it is in another one. */
  const moveRun = (
    { accountId, taskId }: TaskKey,
    from: RunState,
    to: RunState,
    orElse: () => Failure = conflict,
  ): Statement => ({
    sql: `UPDATE task_runs SET state = $4, since = $5 WHERE account_id = $1 AND task_id = $2 AND state = $3`,
    params: [accountId, taskId, from, to, clock.now()],
    expect: { rows: 1, orElse },
  })

  return {
    tasks: collection,
    parts,

    async run({ accountId, taskId }: TaskKey): Promise<Run | undefined> {
      return runs.first(
        await all(`SELECT ${runs.columns} FROM task_runs WHERE account_id = $1 AND task_id = $2`, [
          accountId,
          taskId,
        ]),
      )
    },

    /** The runs of an account's tasks whose ids lie between two, by id. */
    async runsBetween(accountId: string, lowest: string, highest: string): Promise<Map<string, Run>> {
      const rows = await all(
        `SELECT ${taskRuns.columns} FROM task_runs WHERE account_id = $1 AND task_id >= $2 AND task_id <= $3`,
        [accountId, lowest, highest],
      )
      return new Map(taskRuns.list(rows).map((run) => [run.taskId, run]))
    },

    /** Makes room for the input of a task that is no record yet. */
    beginUpload: ({ accountId, taskId }: TaskKey) =>
      writeUnrecorded([insertRun({ accountId, taskId, state: 'uploading', since: clock.now() })]),

    /** Keeps a part of an input that is still arriving. Fails when it was given up meanwhile. */
    keepInput: (key: TaskKey, part: Part) =>
      writeUnrecorded([moveRun(key, 'uploading', 'uploading'), parts.statement(key, 'in.csv', part)]),

    /** Adds the task, whose input is complete, to a change set. */
    insert(set: ChangeSet, task: TaskRecord, hasInput: boolean) {
      const key = keyOf(task)
      collection.insert(set, task)
      const pending = { ...key, state: 'pending', since: clock.now() } as const
      set.add(
        hasInput ? moveRun(key, 'uploading', 'pending') : insertRun(pending, { rows: 1, orElse: conflict }),
      )
    },

    /** Adds a change of state, and the record that tells it. */
    move(set: ChangeSet, before: TaskRecord, after: TaskRecord, from: RunState, to: RunState) {
      collection.replace(set, before, after)
      set.add(moveRun(keyOf(after), from, to))
    },

    /** Adds the removal of a task; its parts go later (`litter`). */
    remove(set: ChangeSet, task: TaskRecord, from: RunState) {
      collection.remove(set, task)
      set.add(moveRun(keyOf(task), from, 'removed'))
    },

    /** Adds the removal of everything that the tasks of an account have beside their records. */
    removeWithAccount: (set: ChangeSet, accountId: string) =>
      set.run("UPDATE task_runs SET state = 'removed' WHERE account_id = $1", [accountId]),

    /** Says which process works on it. */
    takeOver: ({ accountId, taskId }: TaskKey, node: string) =>
      writeUnrecorded([
        {
          sql: "UPDATE task_runs SET node = $3 WHERE account_id = $1 AND task_id = $2 AND state = 'executing'",
          params: [accountId, taskId, node],
        },
      ]),

    /**
     * What makes rows done: happens only while the task is executing and stands where `before` says. Together with
     * what the rows change it is done once, and not at all after a stop.
     */
    advance({ accountId, taskId }: TaskKey, before: Run, after: Run, orElse: () => Failure): Statement {
      const params: Value[] = [
        accountId,
        taskId,
        before.done,
        before.outParts,
        after.done,
        after.succeeded,
        after.failed,
        after.position ?? null,
        after.outParts,
        after.failedParts,
        after.held,
        after.workedMs,
      ]
      return {
        sql: `UPDATE task_runs SET done = $5, succeeded = $6, failed = $7, position = $8, out_parts = $9,
            failed_parts = $10, held = $11, worked_ms = $12
          WHERE account_id = $1 AND task_id = $2 AND state = 'executing' AND done = $3 AND out_parts = $4`,
        params,
        expect: { rows: 1, orElse },
      }
    },

    /** Executing tasks, of each account those that waited longest. */
    async waiting(): Promise<Waiting[]> {
      const rows = await scan(
        `SELECT ${waitingRuns.columns} FROM (
            SELECT account_id, task_id, since,
              row_number() OVER (PARTITION BY account_id ORDER BY since, task_id) AS place
            FROM task_runs WHERE state = 'executing') AS placed
          WHERE place <= $1`,
        [waitingLookedAt],
      )
      return waitingRuns.list(rows)
    },

    /** Some executing tasks, as a cheap look whether there is anything to do. */
    async someExecuting(limit: number): Promise<string[]> {
      const rows = await all(`SELECT ${keys.columns} FROM task_runs WHERE state = 'executing' LIMIT $1`, [
        limit,
      ])
      return keys.list(rows).map(({ taskId }) => taskId)
    },

    /** Some of what is left over of removed tasks, and of inputs in which nothing came for a while. */
    async litter(uploadsBefore: number, limit: number): Promise<TaskKey[]> {
      const rows = await all(
        `SELECT ${keys.columns} FROM task_runs
          WHERE state = 'removed' OR (state = 'uploading' AND since < $1) LIMIT $2`,
        [uploadsBefore, limit],
      )
      return keys.list(rows)
    },

    /**
     * Removes what is left of a removed task, or of an input in which nothing came since `uploadsBefore`, in
     * transactions of bounded size. Leaves alone what is a task, or became one meanwhile.
     */
    async sweep({ accountId, taskId }: TaskKey, uploadsBefore: number) {
      const place = [accountId, taskId]
      if ((await this.run({ accountId, taskId })) === undefined) return
      await writeUnrecorded([
        {
          sql: `UPDATE task_runs SET state = 'removed'
            WHERE account_id = $1 AND task_id = $2 AND state = 'uploading' AND since < $3`,
          params: [...place, uploadsBefore],
        },
      ])
      if ((await this.run({ accountId, taskId }))?.state !== 'removed') return
      await parts.removeAll({ accountId, taskId })
      await writeUnrecorded([
        {
          sql: "DELETE FROM task_runs WHERE account_id = $1 AND task_id = $2 AND state = 'removed'",
          params: place,
        },
      ])
    },
  }
}

export type TaskStore = ReturnType<typeof createTaskStore>
