import type { MessagePort } from 'node:worker_threads'
import type { Failure } from '../lib/failure.ts'

export type Value = string | number | Uint8Array | null

export type Row = Record<string, string | number | null>

export interface Statement {
  sql: string
  params: readonly Value[]
  /** The number of rows it must touch. Otherwise the whole write is undone and fails with `orElse()`: this decides races. */
  expect?: { rows: number; orElse: () => Failure }
  /** Set if it adds one row and may be joined with others of its kind. */
  into?: Insertion
}

/** The common part of such statements: PostgreSQL gets the rows of many writes at once. */
export interface Insertion {
  table: AppendTable
  /** SQL after the values. */
  ending: string
}

/** A table whose rows are added unconditionally, those of many writes in one statement. */
export interface AppendTable {
  name: string
  columns: Readonly<Record<string, 'text' | 'integer'>>
  insertion: string
  /** Its rows get a place in the order of all commits. */
  isPlaced: boolean
}

export interface Append {
  table: AppendTable
  values: readonly Value[]
}

/** All or nothing. `stale`: keys of caches. */
export interface Write {
  statements: readonly Statement[]
  appends?: readonly Append[]
  stale: readonly string[]
  /** In its own transaction: other writes would wait for the locks of rows that all processes write. */
  isAlone?: boolean
}

/** `everything` if the keys are not known. */
export type StaleListener = (keys: readonly string[] | 'everything') => void

/** One or several cells of CSV lines that the store writes. Members are SQL; NULL is an empty cell. */
export interface CsvCell {
  value: string
  quotedWhen?: string
  /** When it needs an apostrophe. */
  guardedWhen?: string
  /** The apostrophe does not make the line a special one. */
  oftenGuarded?: boolean
  alwaysQuoted?: boolean
}

export interface CsvQuery {
  cells: readonly CsvCell[]
  /** A module with functions that the cells call, if the store does not write dates: see `SqlWords.dates`. */
  functions?: string | undefined
  /** Rows whose cells need neither quotes nor unusual apostrophes. */
  plainWhen: string
  orderedBy: readonly string[]
  /** SQL from FROM to ORDER BY. */
  tail: string
  params: readonly Value[]
  /** A range of an index with few enough rows to sort. */
  byBlock: boolean
}

interface WriteLoad {
  waiting: number
  lanes: number
  busyLanes: number
}

export interface CommittedBatch {
  writes: number
  /** From submission until it is durable. */
  seconds: number
}

/** A synchronous standby does not confirm, or no server takes writes. */
export type StoreTrouble = 'standby_missing' | 'primary_missing'

export type Engine = 'sqlite' | 'postgres'

/** Connects a thread to the writing thread, also after that one died. */
export interface WriterRegistry {
  seat(): Promise<MessagePort> | MessagePort
  /** Whether other threads write, so that their commits must be read. */
  isShared(): boolean
  /** 32-bit counters in shared memory. */
  commits: SharedArrayBuffer
  processId: string
  /** Whether other processes get the stale keys. */
  tellsKeys: boolean
}

/** What differs between the engines. Areas use the store instead. */
export interface Database {
  readonly engine: Engine
  /** Whether rows are ordered at commit, or later by the sequencer. */
  readonly placesAppends: boolean
  /** A short read: indexed, a bounded number of rows. */
  all<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  /** A long read in a thread or on another connection. */
  scan<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  /** A long read whose rows the store writes as CSV. Several may run at once. */
  csvLines(query: CsvQuery): Promise<Uint8Array>
  /** Finds the next lines, on the connection that reads them. */
  scanForLines: Database['scan']
  /** Best number of lines in one query. */
  readonly linesAtOnce: number
  /** Resolves when the write is durable (fsync). */
  write(write: Write): Promise<void>
  /** Makes all earlier commits of other processes known to the caches. Undefined if there is nothing to wait for. */
  fence(): Promise<void> | undefined
  onStale(listener: StaleListener): void
  writeLoad(): WriteLoad
  onBatch(listener: (batch: CommittedBatch) => void): void
  /** Why writes fail, as far as known. */
  state(): StoreTrouble | undefined
  /** One transaction that no other process runs at the same time: storage upgrades. */
  exclusively(
    work: (run: (sql: string, params?: readonly Value[]) => Promise<Row[]>) => Promise<void>,
  ): Promise<void>
  /** Absent if each thread opens the store itself. */
  readonly seating?: WriterRegistry
  close(): Promise<void>
}

export interface UnrecordedStore extends Pick<Database, 'all'> {
  /** For internal tables (leases, progress, queues): the statements have no audit entry and no event. */
  writeUnrecorded(statements: readonly Statement[], stale?: readonly string[]): Promise<void>
  /** In its own transaction: other writes would wait for the locks of rows that all processes write. */
  writeAlone(statements: readonly Statement[], stale?: readonly string[]): Promise<void>
}

export const cacheKey = (accountId: string, kind: string, id: string) => `${accountId}/${kind}/${id}`
