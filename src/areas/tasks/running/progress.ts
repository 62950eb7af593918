// The book of a running task: what of it is done for good, committed together with what the rows change.

import type { Lease } from '../../../jobs/leases.ts'
import { csvLine, plainCsvLine } from '../../../lib/csv.ts'
import { Failure, failure } from '../../../lib/failure.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import type { OutputRow } from '../actions.ts'
import { keyOf, type Run, type TaskRecord, type TaskStore } from '../store.ts'

/** The task was stopped or removed, or another process works on it: nothing more may happen here. */
export class RunIsOver extends Error {}

/** What some rows amount to. */
export interface Entry {
  succeeded: number
  failed: number
  output: readonly OutputRow[]
  /** The failed rows as they came, for a retry. */
  failedRows: readonly (readonly (string | undefined)[])[]
  changes: readonly ChangeSet[]
  position?: string | undefined
  workedMs: number
}

const isSomething = (value: unknown) => value !== undefined && value !== null && value !== ''

const heldAfter = (held: string, columns: readonly string[], rows: readonly OutputRow[]) =>
  columns
    .map((name, index) => (held[index] === '1' || rows.some((row) => isSomething(row[name])) ? '1' : '0'))
    .join('')

export interface Progress {
  readonly run: Run
  /** Stores what has to be there before the outside is asked. What follows from the answer is entered later. */
  prepare(changes: readonly ChangeSet[]): Promise<void>
  /** Makes it so, once and for good. Throws RunIsOver when it must not be any more; other failures are of the changes. */
  enter(entry: Entry): Promise<void>
}

interface Tools {
  base: Store
  store: TaskStore
  task: TaskRecord
  lease: Lease
  run: Run
}

export const createProgress = ({ base, store, task, lease, run: start }: Tools): Progress => {
  const key = keyOf(task)
  const { columns } = task.hidden
  let run = start

  const partStatements = (entry: Entry): Statement[] => {
    const statements: Statement[] = []
    if (entry.output.length > 0) {
      const content = entry.output.map((row) => csvLine(columns.map((name) => row[name]))).join('')
      const part = { number: run.outParts, firstRow: run.done, content: Buffer.from(content) }
      statements.push(store.parts.statement(key, 'out', part))
    }
    if (entry.failedRows.length > 0) {
      const content = entry.failedRows.map(plainCsvLine).join('')
      const part = { number: run.failedParts, firstRow: run.done, content: Buffer.from(content) }
      statements.push(store.parts.statement(key, 'failed', part))
    }
    return statements
  }

  const runAfter = (entry: Entry): Run => ({
    ...run,
    done: run.done + entry.succeeded + entry.failed,
    succeeded: run.succeeded + entry.succeeded,
    failed: run.failed + entry.failed,
    position: entry.position ?? run.position,
    outParts: run.outParts + (entry.output.length > 0 ? 1 : 0),
    failedParts: run.failedParts + (entry.failedRows.length > 0 ? 1 : 0),
    held: heldAfter(run.held, columns, entry.output),
    workedMs: run.workedMs + entry.workedMs,
  })

  const write = (changes: readonly ChangeSet[], statements: readonly Statement[]) => {
    const [first] = changes
    if (!first) return base.writeUnrecorded(statements)
    first.statements.unshift(...statements)
    return base.commit(...changes)
  }

  /** Writes it if the task still stands where this run has come to. */
  const writeAt = async (after: Run, changes: readonly ChangeSet[], statements: readonly Statement[]) => {
    let isOver = false
    const advance = store.advance(key, run, after, () => {
      isOver = true
      return failure('lease_lost', {})
    })
    try {
      await write(changes, [lease.guardStatement(), advance, ...statements])
    } catch (error) {
      const isLost = error instanceof Failure && error.kind === 'lease_lost'
      if (isOver || isLost) throw new RunIsOver()
      throw error
    }
    run = after
  }

  return {
    get run() {
      return run
    },
    prepare: (changes) => writeAt(run, changes, []),
    enter: (entry) => writeAt(runAfter(entry), entry.changes, partStatements(entry)),
  }
}
