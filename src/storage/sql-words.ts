import type { Engine, Statement, Value } from './db.ts'

// SQLite runs a statement for each row, because binding values is faster than reading a list. PostgreSQL gets one statement with an
// array for each column: one round trip.

export type RowShape = Readonly<Record<string, 'text' | 'integer'>>

interface RowStatement<Shape extends RowShape = RowShape> {
  shape: Shape
  rows: readonly Readonly<Record<keyof Shape, Value>>[]
  /** Common values: `$1` and so on. */
  params: readonly Value[]
  /** `given` is SQL after FROM, with the columns of the shape. */
  sql(given: string): string
  /** Each row must touch one row of the store; otherwise the write fails. */
  orElse: NonNullable<Statement['expect']>['orElse']
}

/** Rows that are added to the sums of existing rows. */
interface Accumulation {
  table: string
  /** Unique among the rows. */
  keys: RowShape
  sums: readonly string[]
  /** Keys, then sums. */
  rows: readonly (readonly Value[])[]
}

type ElementType = RowShape[string]

const arrayTypes = { text: 'text[]', integer: 'bigint[]' }
// From pg_type.
const elementOids = { text: 25, integer: 20 }

const isBigint = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63

const fits = (type: ElementType, value: Value) =>
  value === null || (type === 'text' ? typeof value === 'string' : isBigint(value))

const headerBytes = 20
const maxBytesOf = (value: Value) => 4 + (typeof value === 'string' ? value.length * 3 : 8)

/**
 * Binary array (array_recv in PostgreSQL's arrayfuncs.c). Escaped text took 1.5 times the processor time when ingesting call records.
 */
const binaryArray = (type: ElementType, values: readonly Value[]) => {
  const bytes = Buffer.allocUnsafe(
    values.reduce<number>((sum, value) => sum + maxBytesOf(value), headerBytes),
  )
  // Dimensions (none if empty), nulls allowed, type, length, first index.
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

/** PostgreSQL converts or rejects values of another type. */
const arrayOf = (type: ElementType, values: readonly Value[]) =>
  values.every((value) => fits(type, value))
    ? binaryArray(type, values)
    : `{${values.map(elementText).join(',')}}`

/** A table expression with one array parameter for each column, from `$first` on. */
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

const sqliteForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
  const names = Object.keys(shape)
  const places = names.map((name, index) => `$${params.length + index + 1} AS ${name}`)
  const text = sql(`(SELECT ${places.join(', ')}) AS given`)
  const expect = { rows: 1, orElse }
  return rows.map((row) => ({ sql: text, params: [...params, ...valuesOf(row, names)], expect }))
}

const postgresForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
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

const sqliteAccumulating = (accumulation: Accumulation): Statement[] => {
  const { keys, sums, rows } = accumulation
  const marks = [...Object.keys(keys), ...sums].map((_, index) => `$${index + 1}`)
  const sql = accumulatingSql(accumulation, `VALUES (${marks.join(', ')})`)
  return rows.map((params) => ({ sql, params }))
}

const postgresAccumulating = (accumulation: Accumulation): Statement[] => {
  const { keys, sums, rows } = accumulation
  if (rows.length === 0) return []
  const shape = { ...keys, ...Object.fromEntries(sums.map((name) => [name, 'integer' as const])) }
  const { from, params } = unnested(shape, rows)
  return [{ sql: accumulatingSql(accumulation, `SELECT * FROM ${from}`), params }]
}

/** SQL that differs between the engines. Arguments are SQL expressions. */
export interface SqlWords {
  /** Concatenation without NULLs. */
  joined(parts: readonly string[]): string
  asText(number: string): string
  /** The whole text if the character is missing. */
  before(text: string, character: string): string
  /** Empty if the character is missing. */
  behind(text: string, character: string): string
  /** Undefined if lines of CSV call functions of ours (`CsvQuery.functions`), which takes half the time. */
  dates:
    | {
        /** Unix seconds as UTC: `2026-02-07 09:15:02`. */
        dateAndTime(unixSeconds: string): string
        /** `2026-02-07T09:15:02Z` */
        isoDateAndTime(unixSeconds: string): string
        /** `Sat, 07 Feb 2026 09:15:02 GMT` */
        httpDate(unixSeconds: string): string
      }
    | undefined
  /** With leading zeros. */
  padded(number: string, digits: number): string
  /** NULL if missing. */
  integerIn(json: string, key: string): string
  /** By the path of keys; NULL if missing. */
  textAt(json: string, ...keys: readonly string[]): string
  isFalseIn(json: string, key: string): string
  isSaidIn(json: string, key: string): string
  /** Rows `pairs.a`, `pairs.b` of a JSON list of pairs of texts. */
  pairs(json: string): string
  /** Ends the condition of a single row: the last column of a unique index, after conditions on the others. */
  oneBy(key: string, value: string): string
  /** Given rows, each with the row it names. */
  withRows(join: RowsByKey): string
  /** For IN: a JSON list of numbers. */
  numbers(json: string): string
  /** The column with the order of insertion. */
  position: string
  /** Locks the records until the end of the transaction. Several transactions may hold the lock. */
  heldRecords(condition: string): string
  forEachRow(statement: RowStatement): readonly Statement[]
  accumulating(accumulation: Accumulation): readonly Statement[]
  /**
   * For shared counters: one transaction of this name at a time, to avoid deadlocks. Undefined if writes are serialized anyway.
   */
  takeTurn(name: string): Statement | undefined
  /**
   * After many rows were inserted: PostgreSQL would plan with old statistics for up to a minute. Undefined if plans do not
   * depend on statistics.
   */
  analysis(table: string): Statement | undefined
}

export interface Dialect {
  /** Ordered by bytes in both engines. */
  key: string
  /** For small rows: stored in the order of the primary key, if possible. */
  compact: string
  bytes: string
  /** The order of rows without a sequence: SQLite numbers its rows. */
  position: { column: string; by: string }
  /** See monthly.ts. */
  monthly: { column: string; inKey: string; partitioned: string }
}

export const dialects: Record<Engine, Dialect> = {
  sqlite: {
    key: 'TEXT',
    compact: 'WITHOUT ROWID',
    bytes: 'BLOB',
    position: { column: '', by: 'sequence' },
    monthly: { column: '', inKey: '', partitioned: '' },
  },
  postgres: {
    key: 'TEXT COLLATE "C"',
    compact: '',
    bytes: 'BYTEA',
    position: { column: 'position BIGSERIAL NOT NULL,', by: 'position' },
    monthly: {
      column: 'month INTEGER NOT NULL,',
      inKey: ', month',
      partitioned: 'PARTITION BY LIST (month)',
    },
  },
}

interface RowsByKey {
  given: string
  from: string
  /** A condition that many rows match; `key` is the next column of the unique index. */
  scope: string
  key: string
  is: string
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

const sqlite: SqlWords = {
  joined: (parts) => `concat(${parts.join(', ')})`,
  asText: (number) => `CAST(${number} AS TEXT)`,
  before: (text, character) =>
    `CASE WHEN instr(${text}, ${quoted(character)}) > 0
      THEN substr(${text}, 1, instr(${text}, ${quoted(character)}) - 1) ELSE ${text} END`,
  behind: (text, character) =>
    `CASE WHEN instr(${text}, ${quoted(character)}) > 0
      THEN substr(${text}, instr(${text}, ${quoted(character)}) + 1) ELSE '' END`,
  dates: undefined,
  padded: (number, digits) => `substr('${'0'.repeat(digits)}' || (${number}), -${digits})`,
  integerIn: (json, key) => `CAST(${json} ->> ${quoted(key)} AS INTEGER)`,
  textAt: (json, ...keys) => `${json} ->> ${quoted(['$', ...keys].join('.'))}`,
  isFalseIn: (json, key) => `coalesce(json_type(${json}, ${quoted(`$.${key}`)}) = 'false', 0)`,
  isSaidIn: (json, key) => `${json} ->> ${quoted(key)} IS NOT NULL`,
  pairs: (json) => `(SELECT value ->> 0 AS a, value ->> 1 AS b FROM json_each(${json})) AS pairs`,
  oneBy: (key, value) => `${key} = ${value}`,
  withRows: ({ given, from, scope, key, is }) =>
    `${given} CROSS JOIN ${from} WHERE ${scope} AND ${key} = ${is}`,
  numbers: (json) => `(SELECT value FROM json_each(${json}))`,
  position: 'rowid',
  heldRecords: (condition) => `UPDATE records SET revision = revision WHERE ${condition}`,
  forEachRow: sqliteForEachRow,
  accumulating: sqliteAccumulating,
  takeTurn: () => undefined,
  analysis: () => undefined,
}

const timestampOf = (seconds: string) => `(to_timestamp(${seconds}) AT TIME ZONE 'UTC')`

// With bad statistics PostgreSQL chose an index along which it read all rows of the other conditions. Only the right index has this order.
const oneByOrder = (key: string, value: string) =>
  `${key} BETWEEN ${value} AND ${value} ORDER BY ${key} LIMIT 1`

const postgres: SqlWords = {
  joined: (parts) => `concat(${parts.join(', ')})`,
  asText: (number) => `(${number})::text`,
  before: (text, character) => `split_part(${text}, ${quoted(character)}, 1)`,
  behind: (text, character) =>
    `CASE WHEN strpos(${text}, ${quoted(character)}) > 0
      THEN substr(${text}, strpos(${text}, ${quoted(character)}) + 1) ELSE '' END`,
  dates: {
    // Read connections have the date style ISO. to_char costs twice as much.
    dateAndTime: (seconds) => `${timestampOf(seconds)}::text`,
    isoDateAndTime: (seconds) => `translate(${timestampOf(seconds)}::text, ' ', 'T') || 'Z'`,
    httpDate: (seconds) => `to_char(${timestampOf(seconds)}, 'Dy, DD Mon YYYY HH24:MI:SS "GMT"')`,
  },
  padded: (number, digits) => `lpad((${number})::text, ${digits}, '0')`,
  integerIn: (json, key) => `(${json}::json ->> ${quoted(key)})::bigint`,
  textAt: (json, ...keys) => `${json}::json #>> ${quoted(`{${keys.join(',')}}`)}`,
  isFalseIn: (json, key) => `coalesce(${json}::json ->> ${quoted(key)} = 'false', false)`,
  isSaidIn: (json, key) => `${json}::json ->> ${quoted(key)} IS NOT NULL`,
  pairs: (json) =>
    `(SELECT pair ->> 0 AS a, pair ->> 1 AS b FROM json_array_elements(${json}::json) AS pair) AS pairs`,
  oneBy: oneByOrder,
  withRows: ({ given, from, scope, key, is }) =>
    `${given} CROSS JOIN LATERAL
      (SELECT * FROM ${from} WHERE ${scope} AND ${oneByOrder(key, is)}) AS named`,
  numbers: (json) => `(SELECT value::bigint FROM json_array_elements_text(${json}::json) AS value)`,
  position: 'position',
  heldRecords: (condition) => `SELECT 1 FROM records WHERE ${condition} FOR SHARE`,
  forEachRow: postgresForEachRow,
  accumulating: postgresAccumulating,
  takeTurn: (name) => ({ sql: 'SELECT pg_advisory_xact_lock(hashtext($1))', params: [`crosspoint ${name}`] }),
  analysis: (table) => ({ sql: `ANALYZE ${table}`, params: [] }),
}

export const sqlWordsOf = (engine: Engine): SqlWords => (engine === 'sqlite' ? sqlite : postgres)
