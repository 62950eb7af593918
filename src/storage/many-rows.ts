import type { Statement, Value } from './db.ts'

// Statements about many rows. SQLite runs a statement again for each row: it binds values faster than it takes a list
// apart, and for a statement that adds several rows it makes a temporary table. PostgreSQL gets one statement with an array
// for each column, so that the round trip between the two processes is paid once.

/** Columns with their types. */
export type RowShape = Readonly<Record<string, 'text' | 'integer'>>

/** A statement that is to happen once for each of many rows. */
export interface RowStatement<Shape extends RowShape = RowShape> {
  shape: Shape
  rows: readonly Readonly<Record<keyof Shape, Value>>[]
  /** Values that are the same for all rows: `$1` and so on. */
  params: readonly Value[]
  /** The statement's text. `given` stands behind FROM and has the columns of the shape: `given.id`. */
  sql(given: string): string
  /** It must touch one row of the store for each row; otherwise the write is undone and fails with this. */
  orElse: NonNullable<Statement['expect']>['orElse']
}

/** Rows that are added to a table, each to the row that has its key already, if there is one. */
export interface Accumulation {
  table: string
  /** The columns that tell rows apart, with their types; no two of the rows share them. */
  keys: RowShape
  /** The columns of whole numbers that are added up. */
  sums: readonly string[]
  /** The values of the keys, then the numbers. */
  rows: readonly (readonly Value[])[]
}

const elementText = (value: Value) => {
  if (value === null) return 'NULL'
  // Beyond the safe integers a number's own text is rounded, and may be out of the range of bigint.
  if (typeof value === 'number')
    return String(Number.isSafeInteger(value) || !Number.isInteger(value) ? value : BigInt(value))
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  throw new TypeError('an array holds texts, numbers and nulls')
}

const arrayTypes = { text: 'text[]', integer: 'bigint[]' }

/** Rows as a table expression of PostgreSQL with a parameter for each column, from `$first` on. */
export const unnested = (shape: RowShape, rows: readonly (readonly Value[])[], first = 1) => {
  const types = Object.values(shape)
  return {
    from: `unnest(${types.map((type, column) => `$${first + column}::${arrayTypes[type]}`).join(', ')})`,
    params: types.map((_, column) => `{${rows.map((row) => elementText(row[column] ?? null)).join(',')}}`),
  }
}

const valuesOf = (row: Readonly<Record<string, Value>>, names: readonly string[]) =>
  names.map((name) => row[name] ?? null)

export const sqliteForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
  const names = Object.keys(shape)
  const places = names.map((name, index) => `$${params.length + index + 1} AS ${name}`)
  const text = sql(`(SELECT ${places.join(', ')}) AS given`)
  const expect = { rows: 1, orElse }
  return rows.map((row) => ({ sql: text, params: [...params, ...valuesOf(row, names)], expect }))
}

export const postgresForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
  if (rows.length === 0) return []
  const names = Object.keys(shape)
  const lists = rows.map((row) => valuesOf(row, names))
  const { from, params: arrays } = unnested(shape, lists, params.length + 1)
  const text = sql(`${from} AS given (${names.join(', ')})`)
  return [{ sql: text, params: [...params, ...arrays], expect: { rows: rows.length, orElse } }]
}

const accumulatingSql = ({ table, keys, sums }: Accumulation, source: string) => {
  const added = sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${[...Object.keys(keys), ...sums].join(', ')}) ${source}
    ON CONFLICT (${Object.keys(keys).join(', ')}) DO UPDATE SET ${added.join(', ')}`
}

export const sqliteAccumulating = (accumulation: Accumulation): Statement[] => {
  const { keys, sums, rows } = accumulation
  const marks = [...Object.keys(keys), ...sums].map((_, index) => `$${index + 1}`)
  const sql = accumulatingSql(accumulation, `VALUES (${marks.join(', ')})`)
  return rows.map((params) => ({ sql, params }))
}

export const postgresAccumulating = (accumulation: Accumulation): Statement[] => {
  const { keys, sums, rows } = accumulation
  if (rows.length === 0) return []
  const shape = { ...keys, ...Object.fromEntries(sums.map((name) => [name, 'integer' as const])) }
  const { from, params } = unnested(shape, rows)
  return [{ sql: accumulatingSql(accumulation, `SELECT * FROM ${from}`), params }]
}
