import type { Append, AppendTable, Insertion, Row, Statement, Value } from './db.ts'

// Row types, selects, inserts and updates follow from the columns of a table. Statements stay SQL.

type Stored = string | number | null

/** Without `read` and `write` the value is stored as it is. */
interface Column<T> {
  readonly type: 'text' | 'integer'
  /** If not the field's name in snake_case. */
  readonly name?: string | undefined
  read?(stored: Stored): T
  write?(value: T): Value
}

type Columns = Readonly<Record<string, Column<unknown>>>

type Values<C extends Columns> = {
  -readonly [Field in keyof C]: C[Field] extends Column<infer T> ? T : never
}

export const text = (name?: string): Column<string> => ({ type: 'text', name })

export const integer = (name?: string): Column<number> => ({ type: 'integer', name })

export const flag = (name?: string): Column<boolean> => ({
  type: 'integer',
  name,
  read: (stored) => stored === 1,
  write: (value) => (value ? 1 : 0),
})

/** Not validated when read: only this server writes the table. */
export const json = <T>(name?: string): Column<T> => ({
  type: 'text',
  name,
  read: (stored) => JSON.parse(textIn(stored)),
  write: (value) => JSON.stringify(value),
})

export const oneOf = <const T extends string>(values: readonly T[], name?: string): Column<T> => ({
  type: 'text',
  name,
  read(stored) {
    const value = values.find((one) => one === stored)
    if (value === undefined)
      throw new Error(`a row contains ${stored} instead of one of: ${values.join(', ')}`)
    return value
  },
  write: (value) => value,
})

/** NULL is undefined. */
export const optional = <T>({ type, name, read, write }: Column<T>): Column<T | undefined> => ({
  type,
  name,
  read(stored) {
    if (stored === null) return undefined
    return read ? read(stored) : plain<T>(type, stored)
  },
  write(value) {
    if (value === undefined) return null
    return write ? write(value) : plain<Value>(type, value)
  },
})

const typeNames = { text: 'string', integer: 'number' } as const

const plain = <T>(type: Column<T>['type'], value: unknown) => {
  if (typeof value !== typeNames[type]) throw new Error(`${JSON.stringify(value)} is not of the type ${type}`)
  return value as T
}

const bindable = (value: unknown) => {
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new Error(`${JSON.stringify(value)} cannot be the value of a column`)
}

const textIn = (stored: Stored) => plain<string>('text', stored)

export const snakeCase = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `$3, $4, $5` */
export const placeholders = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(', ')

/** Columns of a query, and how its rows are read. */
interface Shape<C extends Columns> {
  /** For SELECT: every column under its field's name. */
  readonly columns: string
  /** For a joined table: `columnsOf('r')`. */
  columnsOf(alias: string): string
  /** Other columns are kept. */
  read(row: Row): Values<C>
  list(rows: readonly Row[]): Values<C>[]
  first(rows: readonly Row[]): Values<C> | undefined
}

export type RowOf<S extends { read(row: Row): unknown }> = ReturnType<S['read']>

interface Table<C extends Columns> extends Shape<C> {
  readonly name: string
  pick<Field extends keyof C>(...fields: Field[]): Table<Pick<C, Field>>
  /** `ending`: SQL after the values. */
  insert(ending?: string): StatementOf<C>
  /** For rows that may be inserted together with those of other writes: `ending` must not change rows. */
  joining(ending: string): StatementOf<C>
  upsert(...key: (keyof C)[]): StatementOf<C>
  /** Sets all other columns. `ending`: further conditions. */
  update(key: readonly (keyof C)[], ending?: string): StatementOf<C>
  readonly layout: AppendTable
  /** Inserted unconditionally, together with rows of other writes. */
  append(row: Values<C>): Append
}

type StatementOf<C extends Columns> = (row: Values<C>, expect?: Statement['expect']) => Statement

interface NamedColumn {
  field: string
  name: string
  column: Column<unknown>
}

const placesOf = (columns: Columns): NamedColumn[] =>
  Object.entries(columns).map(([field, column]) => ({
    field,
    name: column.name ?? snakeCase(field),
    column,
  }))

const selected = (places: readonly NamedColumn[], alias: string) =>
  places.map(({ field, name }) => `${alias}${name}${field === name ? '' : ` AS "${field}"`}`).join(', ')

/** Rows arrive under field names, so most values need no conversion. Types are checked once for each result. */
export const shape = <const C extends Columns>(columns: C): Shape<C> => {
  const places = placesOf(columns)
  const converted = places.flatMap(({ field, column: { read } }) => (read ? [{ field, read }] : []))
  const unconverted = places.filter(({ column }) => !column.read)

  const check = (row: Row) => {
    for (const { field, column } of unconverted) {
      if (typeof row[field] !== typeNames[column.type])
        throw new Error(
          `the column ${field} of a row is not of the type ${column.type}: ${JSON.stringify(row[field])}`,
        )
    }
  }

  const convert = (row: Row) => {
    let read: Record<string, unknown> = row
    for (const { field, read: readField } of converted) {
      const value = readField(row[field] ?? null)
      if (value === row[field]) continue
      // Most rows need no copy.
      if (read === row) read = { ...row }
      read[field] = value
    }
    return read as Values<C>
  }

  const read = (row: Row) => {
    check(row)
    return convert(row)
  }

  return {
    columns: selected(places, ''),
    columnsOf: (alias) => selected(places, `${alias}.`),
    read,
    list(rows) {
      const [first] = rows
      if (first) check(first)
      return rows.map(convert)
    },
    first: ([row]) => row && read(row),
  }
}

const pickFrom = <C extends Columns, Field extends keyof C>(columns: C, fields: readonly Field[]) =>
  Object.fromEntries(fields.map((field) => [field, columns[field]])) as Pick<C, Field>

export const table = <const C extends Columns>(
  name: string,
  columns: C,
  { isPlaced = false }: { isPlaced?: boolean } = {},
): Table<C> => {
  const places = placesOf(columns)
  const names = places.map((place) => place.name).join(', ')
  const inserted = `INSERT INTO ${name} (${names}) VALUES (${placeholders(places.length)})`
  const layout: AppendTable = {
    name,
    columns: Object.fromEntries(places.map((place) => [place.name, place.column.type])),
    insertion: inserted,
    isPlaced,
  }

  const writers = places.map(({ column: { write } }) => write)
  const fields = places.map(({ field }) => field)
  const valuesOf = (row: Readonly<Record<string, unknown>>) => {
    const values: Value[] = []
    for (let at = 0; at < fields.length; at += 1) {
      const field = fields[at] ?? ''
      const write = writers[at]
      values.push(write ? write(row[field]) : bindable(row[field]))
    }
    return values
  }

  const statementOf =
    (sql: string): StatementOf<C> =>
    (row, expect) =>
      expect ? { sql, params: valuesOf(row), expect } : { sql, params: valuesOf(row) }

  return {
    ...shape(columns),
    name,
    pick: (...fields) => table(name, pickFrom(columns, fields)),
    insert: (ending = '') => statementOf(`${inserted} ${ending}`.trim()),
    joining(ending) {
      const sql = `${inserted} ${ending}`
      const into: Insertion = { table: layout, ending }
      return (row, expect) => {
        const statement: Statement = { sql, params: valuesOf(row), into }
        if (expect) statement.expect = expect
        return statement
      }
    },
    upsert(...key) {
      const changed = places.filter(({ field }) => !key.includes(field))
      const changes = changed.map((place) => `${place.name} = excluded.${place.name}`)
      const found = places.filter(({ field }) => key.includes(field))
      return statementOf(
        `${inserted} ON CONFLICT (${found.map((place) => place.name).join(', ')}) DO UPDATE SET ${changes.join(', ')}`,
      )
    },
    update(key, ending = '') {
      const terms = places.map((place, index) => ({
        isKey: key.includes(place.field),
        says: `${place.name} = $${index + 1}`,
      }))
      const [found, changes] = [true, false].map((isKey) =>
        terms.filter((term) => term.isKey === isKey).map(({ says }) => says),
      )
      return statementOf(
        `UPDATE ${name} SET ${changes?.join(', ')} WHERE ${found?.join(' AND ')} ${ending}`.trim(),
      )
    },
    layout,
    append: (row) => ({ table: layout, values: valuesOf(row) }),
  }
}

/** Conditions with numbered parameters. A value that is undefined adds none. */
export const conditions = (params: Value[]) => {
  const terms: string[] = []
  return {
    terms,
    params,
    add(term: (place: string) => string, value: Value | undefined) {
      if (value !== undefined) terms.push(term(`$${params.push(value)}`))
    },
  }
}

/** Pages along an index. */
export const keyset = (columns: readonly string[], descending: boolean) => ({
  /** The condition; the last row's columns are parameters from `$from` on. */
  behind: (from: number) =>
    `(${columns.join(', ')}) ${descending ? '<' : '>'} (${placeholders(columns.length, from)})`,
  order: columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', '),
})

interface TreePage {
  /** Condition on `t`. */
  where: string
  keys: readonly string[]
  descending: boolean
  limit: string
}

/**
 * Accounts `r` of a page of the tree `t`. The page is a subquery: otherwise PostgreSQL misjudges the conditions and sorts all accounts.
 * Nor is the record's id compared: PostgreSQL would read all records.
 */
export const accountsOfTreeSql = (selected: string, { where, keys, descending, limit }: TreePage) => {
  const { order } = keyset(keys, descending)
  const columns = [...new Set([...keys, 't.account_id'])].join(', ')
  return `SELECT ${selected} FROM (
      SELECT ${columns} FROM account_tree t WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    ) t
    JOIN records r ON r.account_id = t.account_id AND r.kind = 'account'
    ORDER BY ${order}`
}
