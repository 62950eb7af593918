import type { Clock } from '../lib/clock.ts'
import { Failure } from '../lib/failure.ts'
import { type ChangeSet, writeOf } from './change-set.ts'
import type { Database, Statement } from './db.ts'
import { createMonthlyTable, type MonthlyTable } from './monthly.ts'
import { createRecords, type Records } from './records.ts'
import { type SqlWords, sqlWordsOf } from './sql-words.ts'

/** What areas are given: reads, and the one way to write. */
export interface Store {
  records: Records
  clock: Clock
  /** A short read of an area's own table. */
  all: Database['all']
  /** A long read, beside the event loop. */
  scan: Database['scan']
  /** A part of an export. */
  csvLines: Database['csvLines']
  linesAtOnce: Database['linesAtOnce']
  fence: Database['fence']
  /** How the engine says what the engines say differently. */
  words: SqlWords
  /** The table whose rows lie by month. */
  cdrs: MonthlyTable
  /** Writes change sets, with their audit entries and events, in one durable transaction. */
  commit(...sets: ChangeSet[]): Promise<void>
  /** The machinery's own books (leases, progress, queues), which are no change of anybody's records: kept out of the feed. */
  writeUnrecorded(statements: readonly Statement[]): Promise<void>
}

/** Asked before anything is written that moves counts; it throws to refuse. */
export type Gate = (sets: readonly ChangeSet[]) => Promise<void>

const movesCounts = (sets: readonly ChangeSet[]) => sets.some(({ counts }) => counts.length > 0)

/** `gates` may be filled later: those who stand there need the store themselves. */
export const createStore = (db: Database, clock: Clock, gates: readonly Gate[] = []): Store => ({
  records: createRecords(db),
  clock,
  all: db.all,
  scan: db.scan,
  csvLines: db.csvLines,
  linesAtOnce: db.linesAtOnce,
  fence: db.fence,
  words: sqlWordsOf(db.engine),
  cdrs: createMonthlyTable(db, 'cdrs'),
  async commit(...sets) {
    if (movesCounts(sets)) for (const gate of gates) await gate(sets)
    await db.write(writeOf(sets, clock))
    for (const { author } of sets) if (author.idempotency) author.idempotency.hasCommitted = true
  },
  writeUnrecorded: (statements) => db.write({ statements, stale: [] }),
})

const attempts = 5

const isConflict = (error: unknown) => error instanceof Failure && error.kind === 'datastore_conflict'

/** Repeats read-decide-commit when another writer was faster; after a few lost races the 409 goes to the caller. */
export const retrying = async <T>(operation: (attempt: number) => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation(attempt)
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
    }
  }
}
