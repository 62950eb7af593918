// The book of work at hand: what of it is done for good, committed together with what the rows change.

import { csvLine, plainCsvLine } from '../../lib/csv.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import type { Statement } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { isLeaseLost, type Lease, leaseLost } from '../leases.ts'
import type { Run, RunStore } from './store.ts'

/** The run was stopped or removed, or another process works on it: nothing more may happen here. */
export class RunIsOver extends Error {}

/** What some rows amount to. */
export interface Entry<Detail = never> {
  succeeded: number
  failed: number
  /** By column name. Columns that the run does not have are left out. */
  output: readonly Readonly<Record<string, unknown>>[]
  /** The failed rows as they came. */
  failedRows: readonly (readonly (string | undefined)[])[]
  changes: readonly ChangeSet[]
  /** Belongs to the books, and not to anybody's records. */
  statements?: readonly Statement[]
  position?: string | undefined
  /** Kept from then on in place of what the run had. */
  detail?: Detail | undefined
  workedMs: number
}

const isSomething = (value: unknown) => value !== undefined && value !== null && value !== ''

const heldAfter = (held: string, columns: readonly string[], rows: Entry['output']) =>
  columns
    .map((name, index) => (held[index] === '1' || rows.some((row) => isSomething(row[name])) ? '1' : '0'))
    .join('')

export interface Progress<Detail = unknown> {
  readonly run: Run<Detail>
  /** Stores what has to be there before the outside is asked. What follows from the answer is entered later. */
  prepare(changes: readonly ChangeSet[]): Promise<void>
  /** Makes it so, once and for good. Throws RunIsOver when it must not be any more; other failures are of the changes. */
  enter(entry: Entry<Detail>): Promise<void>
  /** Adds the end of the run to what tells of it. */
  end(set: ChangeSet): void
}

interface Tools<Detail> {
  base: Store
  runs: RunStore<Detail>
  lease: Lease
  run: Run<Detail>
  /** Of the output. */
  columns: readonly string[]
}

export const createProgress = <Detail>({
  base,
  runs,
  lease,
  run: start,
  columns,
}: Tools<Detail>): Progress<Detail> => {
  let run = start

  const partStatements = (entry: Pick<Entry, 'output' | 'failedRows'>): Statement[] => {
    const statements: Statement[] = []
    if (entry.output.length > 0) {
      const content = entry.output.map((row) => csvLine(columns.map((name) => row[name]))).join('')
      const part = { number: run.outParts, firstRow: run.done, content: Buffer.from(content) }
      statements.push(runs.parts.statement(run, 'out', part))
    }
    if (entry.failedRows.length > 0) {
      const content = entry.failedRows.map(plainCsvLine).join('')
      const part = { number: run.failedParts, firstRow: run.done, content: Buffer.from(content) }
      statements.push(runs.parts.statement(run, 'failed', part))
    }
    return statements
  }

  const runAfter = (entry: Entry<Detail>): Run<Detail> => ({
    ...run,
    done: run.done + entry.succeeded + entry.failed,
    succeeded: run.succeeded + entry.succeeded,
    failed: run.failed + entry.failed,
    position: entry.position ?? run.position,
    detail: entry.detail ?? run.detail,
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

  /** Writes it if the run still stands where it has come to here. */
  const writeAt = async (
    after: Run<Detail>,
    changes: readonly ChangeSet[],
    statements: readonly Statement[],
  ) => {
    let isOver = false
    const advance = runs.advance(run, after, () => {
      isOver = true
      return leaseLost()
    })
    try {
      await write(changes, [lease.guardStatement(), advance, ...statements])
    } catch (error) {
      if (isOver || isLeaseLost(error)) throw new RunIsOver()
      throw error
    }
    run = after
  }

  return {
    get run() {
      return run
    },
    prepare: (changes) => writeAt(run, changes, []),
    enter: (entry) =>
      writeAt(runAfter(entry), entry.changes, [...partStatements(entry), ...(entry.statements ?? [])]),
    end(set) {
      lease.guard(set)
      set.statements.push(runs.move(run, 'executing', 'ended', leaseLost))
    },
  }
}
