import type { Append, AppendTable, Insertion, Row, Statement, Value } from './db.ts'

// What a table's columns hold, said once: the type of its rows, how they are selected, read, added and changed follow.
// Statements stay SQL, written out where they are used; from here come lists of columns, placeholders and parameters.

type Stored = string | number | null

/** A column that holds a `T`. Without `read` and `write` the value is stored as it is. */
interface Column<T> {
  readonly type: 'text' | 'integer'
  /** Where it is not the field's name in snake_case. */
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

/** True and false as 1 and 0. */
export const flag = (name?: string): Column<boolean> => ({
  type: 'integer',
  name,
  read: (stored) => stored === 1,
  write: (value) => (value ? 1 : 0),
})

/** A value as JSON text. What is read back is taken for what was written: only this server writes the table. */
export const json = <T>(name?: string): Column<T> => ({
  type: 'text',
  name,
  read: (stored) => JSON.parse(textIn(stored)),
  write: (value) => JSON.stringify(value),
})

/** One of a few texts. */
export const oneOf = <const T extends string>(values: readonly T[], name?: string): Column<T> => ({
  type: 'text',
  name,
  read(stored) {
    const value = values.find((one) => one === stored)
    if (value === undefined) throw new Error(`a row holds ${stored} instead of one of: ${values.join(', ')}`)
    return value
  },
  write: (value) => value,
})

/** A column that may hold NULL, which is read as undefined. */
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

/** A value that is stored as it is. A column without `read` is one of text or of numbers: `T` is what it says it is. */
const plain = <T>(type: Column<T>['type'], value: unknown) => {
  if (typeof value !== typeNames[type]) throw new Error(`${JSON.stringify(value)} is no ${type}`)
  return value as T
}

const bindable = (value: unknown) => {
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new Error(`${JSON.stringify(value)} can be no column's value`)
}

const textIn = (stored: Stored) => plain<string>('text', stored)

const snakeCase = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `$3, $4, $5` */
export const placeholders = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(', ')

/** What a query answers with: columns to select, and how its rows are read. */
interface Shape<C extends Columns> {
  /** What stands behind SELECT: every column under its field's name. */
  readonly columns: string
  /** The same for columns of a joined table: `columnsOf('r')`. */
  columnsOf(alias: string): string
  /** A row of these columns; others that were selected beside them are left in it. */
  read(row: Row): Values<C>
  /** The same for all rows of one answer. */
  list(rows: readonly Row[]): Values<C>[]
  /** The first row of an answer, if there is one. */
  first(rows: readonly Row[]): Values<C> | undefined
}

/** The type of a shape's rows. */
export type RowOf<S extends { read(row: Row): unknown }> = ReturnType<S['read']>

/** A shape of which the database has the rows. */
interface Table<C extends Columns> extends Shape<C> {
  readonly name: string
  /** Some of the columns: a shorter row to select, add or change. */
  pick<Field extends keyof C>(...fields: Field[]): Table<Pick<C, Field>>
  /** `INSERT` of these columns; `ending` stands behind the values: ON CONFLICT DO NOTHING. */
  insert(ending?: string): StatementOf<C>
  /** The same for rows of which many writes have one: they may go in one statement, so that `ending` changes no row. */
  joining(ending: string): StatementOf<C>
  /** `INSERT`, or where there is a row of the same key the change of all other columns. */
  upsert(...key: (keyof C)[]): StatementOf<C>
  /** `UPDATE` of the row with that key: all other columns. `ending` says what else must be so: AND turn = 3. */
  update(key: readonly (keyof C)[], ending?: string): StatementOf<C>
  /** Of the rows that `append` makes. */
  readonly layout: AppendTable
  /** A row that is added unconditionally, in one statement with the rows of other writes. */
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

/**
 * The rows of a query. Rows arrive under the names of their fields, so that most values need no work: per answer, and
 * not per row, it is checked that they are what the columns say.
 */
export const shape = <const C extends Columns>(columns: C): Shape<C> => {
  const places = placesOf(columns)
  const converted = places.flatMap(({ field, column: { read } }) => (read ? [{ field, read }] : []))
  const unconverted = places.filter(({ column }) => !column.read)

  const check = (row: Row) => {
    for (const { field, column } of unconverted) {
      if (typeof row[field] !== typeNames[column.type])
        throw new Error(`the column ${field} of a row is no ${column.type}: ${JSON.stringify(row[field])}`)
    }
  }

  const convert = (row: Row) => {
    let read: Record<string, unknown> = row
    for (const { field, read: readField } of converted) {
      const value = readField(row[field] ?? null)
      if (value === row[field]) continue
      // Most rows need no copy: one of a few texts is what is stored.
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

/** A page of an index: which rows come behind the last one of the page before, and in which order. */
export const keyset = (columns: readonly string[], descending: boolean) => ({
  /** The condition, with the last row's columns in the places from `$from` on. */
  behind: (from: number) =>
    `(${columns.join(', ')}) ${descending ? '<' : '>'} (${placeholders(columns.length, from)})`,
  order: columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', '),
})

interface TreePage {
  /** Which rows of the tree, of the table `t`: what stands behind WHERE. */
  where: string
  /** Columns of `t` that it is ordered by. */
  keys: readonly string[]
  descending: boolean
  limit: string
}

/**
 * Selects from the accounts `r` of a page of the tree `t`, of which the keys can be selected too. The page is cut out first:
 * joined at once, PostgreSQL takes the conditions on one id for independent ones, expects a handful of rows, and sorts all
 * accounts instead of walking along the index. Nor is the record looked for by its id as well, though that is the account's:
 * PostgreSQL concludes that both columns must be equal, which it takes for rare, and reads all records to find the few.
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
