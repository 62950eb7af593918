import type { DatabaseSync } from 'node:sqlite'
import type { Row } from '../db.ts'
import { openDurable, sqliteText } from '../sqlite-open.ts'
import type { Run } from '../upgrades.ts'
import { fillingOf } from './marks.ts'
import {
  type CatalogRow,
  type Cells,
  type Column,
  listOf,
  quoted,
  rowReads,
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

const given = ({ kind }: Column) => {
  if (kind === 'bytes') return 'unhex(substr(?, 3))'
  return kind === 'integer' ? 'CAST(? AS INTEGER)' : '?'
}

const ofEngine = new Set(['writers', 'told_keys'])

/** Blocks this process, which does nothing else. */
export const openSqliteSide = (file: string): StoreSide => {
  const connection: DatabaseSync = openDurable(file)

  const read = async (sql: string, params: Cells) => {
    const statement = connection.prepare(sql)
    statement.setReturnArrays(true)
    return statement.all(...params) as unknown as Cells[]
  }

  return {
    tables: async () => tablesOf(connection.prepare(catalog).all() as unknown as CatalogRow[]),
    count: async (table) =>
      Number(connection.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.count),
    ...rowReads({ asText, given }, read),
    async insert({ name, columns }, rows) {
      const insertion = connection.prepare(
        `INSERT INTO "${name}" (${listOf(columns, quoted)}) VALUES (${listOf(columns, given)})`,
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
