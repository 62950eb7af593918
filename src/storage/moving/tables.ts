import { createHash } from 'node:crypto'
import type { Filling, Move } from './marks.ts'

// What both sides of a move have in common. Every value travels as text, which PostgreSQL and SQLite write alike.

/** A row, in the order of its table's columns. Bytes are written as `\x` and hexadecimal digits. */
export type Cells = readonly (string | null)[]

export interface Column {
  name: string
  kind: 'text' | 'integer' | 'bytes'
}

export interface MovedTable {
  name: string
  /** By name. */
  columns: readonly Column[]
  /** Names of the columns of the primary key, by which the rows are read and written. */
  key: readonly string[]
}

export interface StoreSide {
  tables(): Promise<MovedTable[]>
  count(table: string): Promise<number>
  /** The next rows behind a key. */
  page(table: MovedTable, after: Cells | undefined, limit: number): Promise<Cells[]>
  /** The key of the last row. */
  lastKey(table: MovedTable): Promise<Cells | undefined>
  /** All of them or none. */
  insert(table: MovedTable, rows: readonly Cells[]): Promise<void>
  /** Whether the store is empty, or how far a move has filled it. */
  filling(move: Move | undefined): Promise<Filling>
  /** Prepares the store for its servers when all rows are there. */
  settle(): Promise<void>
  close(): Promise<void>
}

// Leases are of processes that use the store now. `cdrs` is a pattern without rows. The last three are made by each engine itself.
// Tools such as Litestream begin the names of their tables with an underscore.
const notMoved = new Set([
  'leases',
  'storage_upgrades',
  'cdrs',
  'writers',
  'told_keys',
  'distributed_commits',
])

/** The month of a table of call records. */
export const monthOf = (table: string) => /^cdrs_(\d{6})$/.exec(table)?.[1]

// PostgreSQL needs these; SQLite has the month in the table's name, and each row has a position already.
const isDerived = (table: string, column: string) =>
  (column === 'month' && monthOf(table) !== undefined) || (column === 'position' && table === 'audit_log')

export interface CatalogRow {
  table: string
  column: string
  type: string
  /** From 1 on in the primary key, else 0. */
  key: number
}

const kindOf = (type: string): Column['kind'] => {
  if (/^(bytea|blob)$/i.test(type)) return 'bytes'
  return /int/i.test(type) ? 'integer' : 'text'
}

const compare = (one: string, other: string) => (one < other ? -1 : 1)

export const tablesOf = (catalog: readonly CatalogRow[]): MovedTable[] => {
  const rows = catalog.filter(
    ({ table, column }) => !notMoved.has(table) && !table.startsWith('_') && !isDerived(table, column),
  )
  return [...Map.groupBy(rows, ({ table }) => table)]
    .map(([name, columns]) => ({
      name,
      columns: columns
        .map(({ column, type }) => ({ name: column, kind: kindOf(type) }))
        .toSorted((one, other) => compare(one.name, other.name)),
      key: columns
        .filter(({ key }) => key > 0)
        .toSorted((one, other) => one.key - other.key)
        .map(({ column }) => column),
    }))
    .toSorted((one, other) => compare(one.name, other.name))
}

const keyOf = ({ columns, key }: MovedTable, row: Cells): Cells =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null)

export const keyColumns = ({ columns, key }: MovedTable): Column[] =>
  key.flatMap((name) => columns.filter((column) => column.name === name))

// Rows at once: few of a table whose rows may be large, many of one whose rows have turned out to be small.
const leastRows = 50
const maxRows = 5000
const pageCharacters = 8_000_000

const charactersOf = (rows: readonly Cells[]) => {
  let sum = 0
  for (const row of rows) for (const cell of row) sum += cell?.length ?? 0
  return sum
}

/** The rows of a table behind a key, in its order. */
async function* pagesOf(side: StoreSide, table: MovedTable, begin?: Cells): AsyncGenerator<Cells[]> {
  let [after, limit] = [begin, leastRows]
  for (;;) {
    const rows = await side.page(table, after, limit)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = keyOf(table, last)
    const fitting = Math.floor((pageCharacters * rows.length) / Math.max(1, charactersOf(rows)))
    limit = Math.max(1, Math.min(fitting, 4 * limit, maxRows))
  }
}

/**
 * Copies the rows of a table that the other side does not have yet. Rows are added in the order of the primary key, so
 * the last one shows how far a copy that was interrupted had come. No other process may write on either side.
 */
export const copyRows = async (
  from: StoreSide,
  to: StoreSide,
  table: MovedTable,
  onRows: (count: number) => void,
): Promise<void> => {
  for await (const rows of pagesOf(from, table, await to.lastKey(table))) {
    await to.insert(table, rows)
    onRows(rows.length)
  }
}

interface TableDigest {
  rows: number
  sha256: string
}

export const digestOf = async (side: StoreSide, table: MovedTable): Promise<TableDigest> => {
  const hash = createHash('sha256')
  let count = 0
  for await (const rows of pagesOf(side, table)) {
    hash.update(`${JSON.stringify(rows).slice(1, -1)},`)
    count += rows.length
  }
  return { rows: count, sha256: hash.digest('hex') }
}
