import type { Engine, Statement } from './db.ts'
import {
  type Accumulation,
  postgresAccumulating,
  postgresForEachRow,
  type RowStatement,
  sqliteAccumulating,
  sqliteForEachRow,
} from './many-rows.ts'

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
