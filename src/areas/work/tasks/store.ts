import type { Static } from 'typebox'
import type { AuthMethod } from '../../../auth/identity.ts'
import { type BatchPart, createRunStore, type RunKey, type RunState } from '../../../batches/store.ts'
import { unixOfGregorian } from '../../../lib/gregorian.ts'
import { isId } from '../../../lib/ids.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import type { PreviewedCharge } from './actions.ts'
import type { TaskRecord as TaskAnswer } from './schema.ts'

/** `accept_charges`: set at the start of a task that may cost something. */
export type TaskDoc = Omit<
  Static<typeof TaskAnswer>,
  'id' | 'created' | 'csvs' | 'charges' | 'estimated_seconds_left'
> & { csvs: readonly string[] }

interface TaskHidden {
  /** The creator of the task: it runs with the rights of this account and user. */
  author: Author
  authMethod: AuthMethod
  authUserId?: string
  /** The user who started it. */
  starter?: { accountId: string; userId: string }
  /** For a continued task: the first task of the chain, and the number of rows before. */
  rowsBefore?: { taskId: string; count: number }
  /** The header of the input. */
  header?: readonly string[]
  /** The columns of the output. */
  columns: readonly string[]
  /** The first row of another system's output as Latin-1 bytes. Readers get `columns` instead. */
  head?: string
  /** The task ended early: the output keeps all of its columns. */
  brokenOff?: true
}

export type TaskRecord = StoredRecord<TaskDoc, TaskHidden>

export const taskAuthorOf = ({ id, hidden }: Pick<TaskRecord, 'id' | 'hidden'>): Author => ({
  ...hidden.author,
  taskId: id,
})

/** Ids of another system do not grow with time: such tasks are sorted by their submission. */
const foreignSortKey = (submitted: number, id: string) =>
  (Math.max(0, unixOfGregorian(submitted)) * 1000).toString(16).padStart(12, '0') + id

export const createTaskStore = (store: Store) => {
  const runs = createRunStore(store, 'task')
  const tasks = createCollection<TaskDoc, TaskHidden>(store, {
    kind: 'task',
    sortKey: ({ submit_timestamp }, id) => (isId(id) ? id : foreignSortKey(submit_timestamp, id)),
    row: () => ({}),
  })

  const jsonOf = async <T>(task: RunKey, name: 'charges' | 'terms'): Promise<T | undefined> => {
    const { value: part } = await runs.parts.read(task, name).next()
    return part && JSON.parse(part.content.toString())
  }

  return {
    tasks,
    runs,

    beginUpload: (key: RunKey) => store.writeUnrecorded([runs.insert(key, 'uploading')]),

    /** Fails if the upload was given up. */
    keepInput: (key: RunKey, part: BatchPart) =>
      store.writeUnrecorded([
        runs.move(key, 'uploading', 'uploading'),
        runs.parts.statement(key, 'in.csv', part),
      ]),

    /** Bytes of all inputs of an account, those in upload included. */
    async inputBytes(accountId: string): Promise<number> {
      const sql = `SELECT CAST(COALESCE(sum(length(p.content)), 0) AS BIGINT) AS bytes FROM long_parts p
        WHERE p.account_id = $1 AND p.name = 'in.csv' AND p.run_id NOT IN
          (SELECT id FROM long_runs WHERE account_id = $1 AND state = 'removed')`
      const [row] = await store.scan<{ bytes: number }>(sql, [accountId])
      return row?.bytes ?? 0
    },

    /** `position`: where a task without input begins. */
    insert(
      set: ChangeSet,
      task: TaskRecord,
      { hasInput, position }: { hasInput: boolean; position: string | undefined },
    ) {
      tasks.insert(set, task)
      set.add(hasInput ? runs.move(task, 'uploading', 'pending') : runs.insert(task, 'pending', { position }))
    },

    move(set: ChangeSet, before: TaskRecord, after: TaskRecord, from: RunState, to: RunState) {
      tasks.replace(set, before, after)
      set.add(runs.move(after, from, to))
    },

    /**
     * Not in the record, whose size is limited: price lists may exceed it. `charges`: those of all payers; readers see only
     * theirs. `terms`: the price lists that limit the charges of the rows.
     */
    keepJson: (set: ChangeSet, task: RunKey, name: 'charges' | 'terms', value: unknown) => {
      const content = Buffer.from(JSON.stringify(value))
      set.add(runs.parts.statement(task, name, { number: 0, firstRow: 0, content }))
    },

    charges: (task: RunKey) => jsonOf<PreviewedCharge[]>(task, 'charges'),

    terms: (task: RunKey) => jsonOf<unknown>(task, 'terms'),

    /** The parts are deleted later. */
    remove(set: ChangeSet, task: TaskRecord, from: RunState) {
      tasks.remove(set, task)
      set.add(runs.move(task, from, 'removed'))
    },
  }
}

export type TaskStore = ReturnType<typeof createTaskStore>
