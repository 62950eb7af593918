import type { Statement, Value } from './db.ts'
import { arrayText, arrayTypes } from './postgres-arrays.ts'

/** Rows that are added to a table, each to the row that has its key already, if there is one. */
export interface Accumulation {
  table: string
  /** The columns that tell rows apart, with their types; no two of the rows share them. */
  keys: Readonly<Record<string, 'text' | 'integer'>>
  /** The columns of whole numbers that are added up. */
  sums: readonly string[]
  /** The values of the keys, then the numbers. */
  rows: readonly (readonly Value[])[]
}

const namesOf = ({ keys, sums }: Accumulation) => [...Object.keys(keys), ...sums]

const textOf = (accumulation: Accumulation, source: string) => {
  const { table, keys, sums } = accumulation
  const added = sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${namesOf(accumulation).join(', ')}) ${source}
    ON CONFLICT (${Object.keys(keys).join(', ')}) DO UPDATE SET ${added.join(', ')}`
}

/** A statement for each row: of several rows in one SQLite makes a table of its own first, which takes twice as long. */
export const sqliteAccumulating = (accumulation: Accumulation): Statement[] => {
  const marks = namesOf(accumulation).map((_, index) => `$${index + 1}`)
  const sql = textOf(accumulation, `VALUES (${marks.join(', ')})`)
  return accumulation.rows.map((params) => ({ sql, params }))
}

/**
 * One statement for all rows: what a statement costs between the two processes is paid once. The values of a column come
 * as one list, for PostgreSQL would read a JSON text anew for each value that it takes out of a row.
 */
export const postgresAccumulating = (accumulation: Accumulation): Statement[] => {
  const { keys, sums, rows } = accumulation
  if (rows.length === 0) return []
  const types = [...Object.values(keys), ...sums.map(() => 'integer' as const)]
  const lists = types.map((type, index) => `$${index + 1}::${arrayTypes[type]}`)
  return [
    {
      sql: textOf(accumulation, `SELECT * FROM unnest(${lists.join(', ')})`),
      params: types.map((_, column) => arrayText(rows.map((values) => values[column] ?? null))),
    },
  ]
}
