import type { MessagePort } from 'node:worker_threads'
import type { Failure } from '../lib/failure.ts'

/** What both engines can bind. Booleans are stored as 0 and 1. */
export type Value = string | number | Uint8Array | null

export type Row = Record<string, string | number | null>

/** One SQL statement with `$1`-style placeholders. */
export interface Statement {
  sql: string
  params: readonly Value[]
  /**
   * The number of rows the statement must touch. Otherwise the whole write is undone and fails with `orElse()`.
   * This is how races are decided: by the store, at the moment of the write.
   */
  expect?: { rows: number; orElse: () => Failure }
  /** Where the row goes, of a statement that adds one and may be joined with others of its kind. */
  into?: Insertion
}

/** What statements have in common that each add one row, of which PostgreSQL takes those of many writes at once. */
export interface Insertion {
  table: AppendTable
  /** What stands behind the values. */
  ending: string
}

/** A table whose rows are only added: unconditionally, so that the rows of many writes can go in one statement. */
export interface AppendTable {
  name: string
  columns: Readonly<Record<string, 'text' | 'integer'>>
  /** The statement that adds one row. */
  insertion: string
  /** Its rows get places in the order of all that is committed: see placing.ts. */
  isPlaced: boolean
}

export interface Append {
  table: AppendTable
  /** In the order of the table's columns. */
  values: readonly Value[]
}

/** Statements and added rows that happen together or not at all, and the cache keys they make stale. */
export interface Write {
  statements: readonly Statement[]
  appends?: readonly Append[]
  stale: readonly string[]
  /**
   * In a transaction of its own: writes of rows that everybody writes, which would make whatever shared a transaction
   * with them wait for each other's locks.
   */
  isAlone?: boolean
}

/** Called with the keys that a write made stale, or with `everything` when that is not known. */
export type StaleListener = (keys: readonly string[] | 'everything') => void

/**
 * A cell of CSV lines that the store writes by itself, or several in a row with their commas and quotes. All members are
 * SQL; NULL is an empty cell.
 */
export interface CsvCell {
  value: string
  /** When it has to stand in quotes. */
  quotedWhen?: string
  /** When an apostrophe has to stand in front of it. */
  guardedWhen?: string
  /** The apostrophe is usual: it does not make a line a special one. */
  oftenGuarded?: boolean
  /** It has quotes whatever it holds. */
  alwaysQuoted?: boolean
}

/** Lines of CSV: rows of a statement, in an order. */
export interface CsvQuery {
  cells: readonly CsvCell[]
  /** A module whose functions the cells call by their names, where the store does not write dates: see `SqlWords.dates`. */
  functions?: string | undefined
  /** True of rows in which no cell needs quotes, nor an apostrophe but those that are usual. */
  plainWhen: string
  /** Columns that the order is by. */
  orderedBy: readonly string[]
  /** What follows the selected columns, from FROM to ORDER BY. */
  tail: string
  params: readonly Value[]
  /** The rows are found by a range of an index alone, and not too many to be read block by block and then sorted. */
  byBlock: boolean
}

/** What is going on with writes at a moment. */
interface WriteLoad {
  /** Writes that are not under way yet. */
  waiting: number
  lanes: number
  busyLanes: number
}

/** A batch of writes that was committed together. */
export interface CommittedBatch {
  writes: number
  /** From the moment it was handed on until it was durable. */
  seconds: number
}

/** A synchronous standby that commits wait for does not confirm; or no server takes writes, as during a failover. */
export type StoreTrouble = 'standby_missing' | 'primary_missing'

export type Engine = 'sqlite' | 'postgres'

/** How a thread comes to a seat, and again to one if the writing thread dies. */
export interface WriterRegistry {
  /** A port to the writing thread, which may have to be started. */
  seat(): Promise<MessagePort> | MessagePort
  /** Whether others have seats, so that what they commit has to be heard of. */
  isShared(): boolean
  /** Numbers of 32 bits that all threads look at. */
  commits: SharedArrayBuffer
  processId: string
  /** Whether other processes are told what is stale. */
  tellsKeys: boolean
}

/** The seam between the engines. Only `storage/` sees it whole; areas read through it and write by change sets. */
export interface Database {
  readonly engine: Engine
  /** Whether rows have their place in the order of all when they are committed; else somebody gives it to them later. */
  readonly placesAppends: boolean
  /** A short read: indexed, a bounded number of rows. */
  all<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  /** A long read: never blocks the event loop or the short reads. */
  scan<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  /**
   * A long read whose rows the store writes down by itself as lines of CSV: the event loop sees none of them.
   * Several may be in the making at once.
   */
  csvLines(query: CsvQuery): Promise<Uint8Array>
  /** A read that says where the next lines end: in the company of those, so that nothing else is started for it. */
  scanForLines: Database['scan']
  /** How many lines are best asked for at once. */
  readonly linesAtOnce: number
  /** Resolves when the write is durable (fsync). */
  write(write: Write): Promise<void>
  /**
   * After it, whatever other processes had committed before the call is known to this process's caches.
   * Undefined when there was nothing to wait for.
   */
  fence(): Promise<void> | undefined
  onStale(listener: StaleListener): void
  writeLoad(): WriteLoad
  /** Called behind each commit. */
  onBatch(listener: (batch: CommittedBatch) => void): void
  /** Why the store takes no writes, as far as this process has met it; undefined when nothing is known to be wrong. */
  state(): StoreTrouble | undefined
  /** Runs statements in one transaction that no other process runs at the same time: storage upgrades. */
  exclusively(
    work: (run: (sql: string, params?: readonly Value[]) => Promise<Row[]>) => Promise<void>,
  ): Promise<void>
  /** How further threads of this process come to write; absent where each opens the store by itself. */
  readonly seating?: WriterRegistry
  close(): Promise<void>
}

/** Reads and writes of tables that hold no records (leases, progress, queues): their changes are not part of the feed. */
export interface UnrecordedStore extends Pick<Database, 'all'> {
  writeUnrecorded(statements: readonly Statement[], stale?: readonly string[]): Promise<void>
  /** The same in a transaction of its own, for rows that everybody writes: nobody else is to wait for their locks. */
  writeAlone(statements: readonly Statement[], stale?: readonly string[]): Promise<void>
}

export const cacheKey = (accountId: string, kind: string, id: string) => `${accountId}/${kind}/${id}`
