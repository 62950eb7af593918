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

type ElementType = RowShape[string]

const arrayTypes = { text: 'text[]', integer: 'bigint[]' }
// Their numbers in pg_type.
const elementOids = { text: 25, integer: 20 }

const isBigint = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63

const fits = (type: ElementType, value: Value) =>
  value === null || (type === 'text' ? typeof value === 'string' : isBigint(value))

const headerBytes = 20
const maxBytesOf = (value: Value) => 4 + (typeof value === 'string' ? value.length * 3 : 8)

/**
 * The binary form of an array (array_recv in PostgreSQL's arrayfuncs.c). As text each quote of a JSON document would be
 * escaped here and looked for there: ingest of call records took 1.5 times the processor time.
 */
const binaryArray = (type: ElementType, values: readonly Value[]) => {
  const bytes = Buffer.allocUnsafe(
    values.reduce<number>((sum, value) => sum + maxBytesOf(value), headerBytes),
  )
  // One dimension (none of an empty array), nulls may be among the elements, their type, how many, the first one's number.
  const header = [values.length === 0 ? 0 : 1, 1, elementOids[type], values.length, 1]
  for (const [index, field] of header.entries()) bytes.writeInt32BE(field, index * 4)
  let at = headerBytes
  for (const value of values) {
    let length = -1
    if (typeof value === 'string') length = bytes.write(value, at + 4)
    else if (value !== null) length = bytes.writeBigInt64BE(BigInt(Number(value)), at + 4) - at - 4
    bytes.writeInt32BE(length, at)
    at += 4 + Math.max(0, length)
  }
  return bytes.subarray(0, values.length === 0 ? 12 : at)
}

const elementText = (value: Value) => {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  throw new TypeError('an array holds texts, numbers and nulls')
}

/** Where a value is not of the type, the server gets text, which it converts or refuses. */
const arrayOf = (type: ElementType, values: readonly Value[]) =>
  values.every((value) => fits(type, value))
    ? binaryArray(type, values)
    : `{${values.map(elementText).join(',')}}`

/** Rows as a table expression of PostgreSQL with a parameter for each column, from `$first` on. */
export const unnested = (shape: RowShape, rows: readonly (readonly Value[])[], first = 1) => {
  const types = Object.values(shape)
  return {
    from: `unnest(${types.map((type, column) => `$${first + column}::${arrayTypes[type]}`).join(', ')})`,
    params: types.map((type, column) =>
      arrayOf(
        type,
        rows.map((row) => row[column] ?? null),
      ),
    ),
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
