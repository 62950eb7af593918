import type { Statement, Value } from './db.ts'

/** The columns of rows, with their types. */
type RowShape = Readonly<Record<string, 'text' | 'integer'>>

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

const given = 'given'

/** Run again for each row: SQLite binds values faster than it takes a JSON text apart. */
export const sqliteForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
  const names = Object.keys(shape)
  const places = names.map((name, index) => `$${params.length + index + 1} AS ${name}`)
  const text = sql(`(SELECT ${places.join(', ')}) AS ${given}`)
  const expect = { rows: 1, orElse }
  return rows.map((row) => ({
    sql: text,
    params: [...params, ...names.map((name) => row[name] ?? null)],
    expect,
  }))
}

const postgresTypes = { text: 'text', integer: 'bigint' }

/** One statement for all rows: what a statement costs between the two processes is paid once. */
export const postgresForEachRow = ({ shape, rows, params, sql, orElse }: RowStatement): Statement[] => {
  const columns = Object.entries(shape).map(([name, type]) => `${name} ${postgresTypes[type]}`)
  const text = sql(`json_to_recordset($${params.length + 1}::json) AS ${given}(${columns.join(', ')})`)
  return rows.length === 0
    ? []
    : [{ sql: text, params: [...params, JSON.stringify(rows)], expect: { rows: rows.length, orElse } }]
}
