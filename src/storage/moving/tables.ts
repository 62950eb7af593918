import { createHash } from 'node:crypto'
import type { Filling, Move } from './marks.ts'

// Both engines write all values as the same texts.

/** In the order of the columns. Bytes as `\x` and hexadecimal digits. */
export type Cells = readonly (string | null)[]

export interface Column {
  name: string
  kind: 'text' | 'integer' | 'bytes'
}

export interface MovedTable {
  name: string
  /** Sorted by name. */
  columns: readonly Column[]
  /** Primary key. */
  key: readonly string[]
}

export interface StoreSide {
  tables(): Promise<MovedTable[]>
  count(table: string): Promise<number>
  page(table: MovedTable, after: Cells | undefined, limit: number): Promise<Cells[]>
  lastKey(table: MovedTable): Promise<Cells | undefined>
  /** All or none. */
  insert(table: MovedTable, rows: readonly Cells[]): Promise<void>
  filling(move: Move | undefined): Promise<Filling>
  settle(): Promise<void>
  close(): Promise<void>
}

// Leases are of running processes; `cdrs` is an empty pattern; each engine makes the last three. Litestream's tables start with `_`.
const notMoved = new Set([
  'leases',
  'storage_upgrades',
  'cdrs',
  'writers',
  'told_keys',
  'distributed_commits',
])

export const monthOf = (table: string) => /^cdrs_(\d{6})$/.exec(table)?.[1]

// SQLite has the month in the table's name, and a position for each row.
const isDerived = (table: string, column: string) =>
  (column === 'month' && monthOf(table) !== undefined) || (column === 'position' && table === 'audit_log')

export interface CatalogRow {
  table: string
  column: string
  type: string
  /** Position in the primary key, from 1; else 0. */
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

const keyColumns = ({ columns, key }: MovedTable): Column[] =>
  key.flatMap((name) => columns.filter((column) => column.name === name))

export const listOf = (columns: readonly Column[], write: (column: Column, index: number) => string) =>
  columns.map(write).join(', ')

export const quoted = ({ name }: Column) => `"${name}"`

// ORDER BY prefers a selected expression to a column of the same name.
const ofTable = ({ name }: Column) => `t."${name}"`

interface CellWords {
  asText(column: Column): string
  /** A parameter. */
  given(column: Column, index: number): string
}

/** Reads rows in the order of the primary key. */
export const rowReads = (
  { asText, given }: CellWords,
  read: (sql: string, params: Cells) => Promise<Cells[]>,
): Pick<StoreSide, 'page' | 'lastKey'> => ({
  page(table, after, limit) {
    const key = keyColumns(table)
    const behind = after ? `WHERE (${listOf(key, ofTable)}) > (${listOf(key, given)})` : ''
    return read(
      `SELECT ${listOf(table.columns, asText)} FROM "${table.name}" t ${behind}
        ORDER BY ${listOf(key, ofTable)} LIMIT ${limit}`,
      after ?? [],
    )
  },
  async lastKey(table) {
    const key = keyColumns(table)
    const order = listOf(key, (column) => `${ofTable(column)} DESC`)
    return (
      await read(`SELECT ${listOf(key, asText)} FROM "${table.name}" t ORDER BY ${order} LIMIT 1`, [])
    )[0]
  },
})

// Few rows at first, because they may be large.
const leastRows = 50
const maxRows = 5000
const pageCharacters = 8_000_000

const charactersOf = (rows: readonly Cells[]) => {
  let sum = 0
  for (const row of rows) for (const cell of row) sum += cell?.length ?? 0
  return sum
}

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
 * Copies the missing rows in the order of the primary key, so an interrupted copy continues after the last one.
 * No other process may write.
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
