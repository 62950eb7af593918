import type { DatabaseSync } from 'node:sqlite'
import type { Row } from '../db.ts'
import { openDurable, sqliteText } from '../sqlite-open.ts'
import type { Run } from '../upgrades.ts'
import { fillingOf } from './marks.ts'
import {
  type CatalogRow,
  type Cells,
  type Column,
  keyColumns,
  type MovedTable,
  type StoreSide,
  tablesOf,
} from './tables.ts'

const catalog = `SELECT t.name AS "table", c.name AS "column", c.type AS type, c.pk AS key
  FROM sqlite_schema t, pragma_table_info(t.name) c
  WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`

const asText = ({ name, kind }: Column) => {
  if (kind === 'bytes') return `'\\x' || lower(hex(t."${name}"))`
  return kind === 'integer' ? `CAST(t."${name}" AS TEXT)` : `t."${name}"`
}

const fromText = ({ kind }: Column) => {
  if (kind === 'bytes') return 'unhex(substr(?, 3))'
  return kind === 'integer' ? 'CAST(? AS INTEGER)' : '?'
}

const listOf = (columns: readonly Column[], write: (column: Column) => string) =>
  columns.map(write).join(', ')

const quoted = ({ name }: Column) => `"${name}"`

const ofTable = ({ name }: Column) => `t."${name}"`

const ofEngine = new Set(['writers', 'told_keys'])

/** Blocks this process, which does nothing else. */
export const openSqliteSide = (file: string): StoreSide => {
  const connection: DatabaseSync = openDurable(file)

  const read = (sql: string, params: Cells) => {
    const statement = connection.prepare(sql)
    statement.setReturnArrays(true)
    return statement.all(...params) as unknown as Cells[]
  }

  return {
    tables: async () => tablesOf(connection.prepare(catalog).all() as unknown as CatalogRow[]),
    count: async (table) =>
      Number(connection.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.count),
    async page(table: MovedTable, after, limit) {
      const key = keyColumns(table)
      const behind = after ? `WHERE (${listOf(key, ofTable)}) > (${listOf(key, fromText)})` : ''
      return read(
        `SELECT ${listOf(table.columns, asText)} FROM "${table.name}" t ${behind}
          ORDER BY ${listOf(key, ofTable)} LIMIT ${limit}`,
        after ?? [],
      )
    },
    async lastKey(table) {
      const key = keyColumns(table)
      const order = listOf(key, (column) => `${ofTable(column)} DESC`)
      return read(`SELECT ${listOf(key, asText)} FROM "${table.name}" t ORDER BY ${order} LIMIT 1`, [])[0]
    },
    async insert({ name, columns }, rows) {
      const insertion = connection.prepare(
        `INSERT INTO "${name}" (${listOf(columns, quoted)}) VALUES (${listOf(columns, fromText)})`,
      )
      connection.exec('BEGIN IMMEDIATE')
      try {
        for (const row of rows) insertion.run(...row)
        connection.exec('COMMIT')
      } catch (error) {
        if (connection.isTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
    async filling(move) {
      const names = connection
        .prepare(catalog)
        .all()
        .map(({ table }) => String(table))
      const run: Run = async (sql, params = []) => connection.prepare(sqliteText(sql)).all(...params) as Row[]
      return fillingOf(
        run,
        names.filter((name) => !ofEngine.has(name)),
        move,
      )
    },
    async settle() {
      connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    },
    async close() {
      connection.close()
    },
  }
}
