import type { Engine, Statement, Value } from './db.ts'

// Statements about many rows. SQLite runs a statement again for each row: it binds values faster than it takes a list
// apart, and for a statement that adds several rows it makes a temporary table. PostgreSQL gets one statement with an array
// for each column, so that the round trip between the two processes is paid once.

/** Columns with their types. */
export type RowShape = Readonly<Record<string, 'text' | 'integer'>>

/** A statement that is to happen once for each of many rows. */
interface RowStatement<Shape extends RowShape = RowShape> {
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
interface Accumulation {
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

/** What the engines say differently, for areas that compute texts and sums in the store. Arguments are SQL expressions. */
export interface SqlWords {
  /** The texts in a row; NULL counts as nothing. Numbers are written as decimals. */
  joined(parts: readonly string[]): string
  /** A number as text, NULL stays NULL. */
  asText(number: string): string
  /** The text before the first occurrence of a character; the whole text when there is none. */
  before(text: string, character: string): string
  /** The text behind the first occurrence of a character; empty when there is none. */
  behind(text: string, character: string): string
  /** How the store writes dates; undefined where lines of CSV call functions of ours for them (`CsvQuery.functions`), which takes half as long. */
  dates:
    | {
        /** A number of Unix seconds between the years 1 and 9999 as UTC: `2026-02-07 09:15:02`. */
        dateAndTime(unixSeconds: string): string
        /** The same as `2026-02-07T09:15:02Z`. */
        isoDateAndTime(unixSeconds: string): string
        /** The same as `Sat, 07 Feb 2026 09:15:02 GMT`. */
        httpDate(unixSeconds: string): string
      }
    | undefined
  /** A number that is not negative, and has no more digits, with leading zeros. */
  padded(number: string, digits: number): string
  /** A whole number in a JSON object that stands as text; NULL when it is not there. */
  integerIn(json: string, key: string): string
  /** A text deep in a JSON object that stands as text, by the keys that lead there; NULL when it is not there. */
  textAt(json: string, ...keys: readonly string[]): string
  /** Whether a JSON object that stands as text says `false` under a key. */
  isFalseIn(json: string, key: string): string
  /** Whether it says anything under a key but null. */
  isSaidIn(json: string, key: string): string
  /** What stands behind FROM to join with a JSON list of pairs of texts: rows `pairs.a`, `pairs.b`. */
  pairs(json: string): string
  /**
   * The condition that ends a statement which finds one row: by the last column of an index that tells rows apart, behind
   * conditions on all others.
   */
  oneBy(key: string, value: string): string
  /** What stands behind FROM, with WHERE: given rows, each with the one that it names of a table, if that is there. */
  withRows(join: RowsByKey): string
  /** What stands behind IN: the numbers of a JSON list. */
  numbers(json: string): string
  /** The column that numbers rows in the order in which they were added. */
  position: string
  /**
   * Touches the records that fit, and holds them until the end of the transaction: nobody changes or removes one
   * meanwhile. Many may hold one at the same time.
   */
  heldRecords(condition: string): string
  /** What makes a statement happen once for each of many rows. */
  forEachRow(statement: RowStatement): readonly Statement[]
  /** What adds many rows to what a table holds under their keys. */
  accumulating(accumulation: Accumulation): readonly Statement[]
  /**
   * For writes that add to shared counters: until the end of the transaction nobody else has a turn of that name, so
   * that no two of them can wait for each other. Undefined where writes happen one after the other anyway.
   */
  takeTurn(name: string): Statement | undefined
}

/** What the engines write differently. */
export interface Dialect {
  /** A text column that is compared and ordered by its bytes, alike in both engines. */
  key: string
  /** For tables of small rows: stored in the order of the primary key, if the engine can. */
  compact: string
  /** A column of bytes. */
  bytes: string
  /** Rows that have no sequence yet are read in the order in which they were added: SQLite numbers its rows. */
  position: { column: string; by: string }
  /** For tables whose rows are in one table for each month: see monthly.ts. */
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

/** Given rows that name rows of a table. */
interface RowsByKey {
  given: string
  from: string
  /** A condition that many rows of the table fit; `key` is the column behind it in an index that tells them apart. */
  scope: string
  key: string
  /** The column of the given rows that names one. */
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
}

const timestampOf = (seconds: string) => `(to_timestamp(${seconds}) AT TIME ZONE 'UTC')`

// Where statistics take the rows of the other conditions for few, all indices that begin with these look alike, and one was chosen
// along which all those rows are read. Only the one that is meant has this order.
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
    // Connections for reads have the date style ISO: see postgres.ts. It costs half of what to_char does.
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
}

export const sqlWordsOf = (engine: Engine): SqlWords => (engine === 'sqlite' ? sqlite : postgres)
