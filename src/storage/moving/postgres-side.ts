import pg from 'pg'
import { connectTo, runnerOn } from '../postgres-dump.ts'
import { fillingOf } from './marks.ts'
import {
  type CatalogRow,
  type Cells,
  type Column,
  listOf,
  monthOf,
  quoted,
  rowReads,
  type StoreSide,
  tablesOf,
} from './tables.ts'

const catalog = `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, NULL) AS type,
    coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) AS key
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`

const asText = ({ name, kind }: Column) =>
  kind === 'bytes' ? `'\\x' || encode(t."${name}", 'hex')` : `t."${name}"::text`

const given = ({ kind }: Column, index: number) => `$${index + 1}::${kind === 'integer' ? 'bigint' : 'text'}`

/** Not in the types of pg. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

class CopyIn extends pg.Query {
  readonly #content: Buffer

  constructor(config: pg.QueryConfig, content: Buffer) {
    super(config)
    this.#content = content
  }

  handleCopyInResponse(connection: CopyConnection) {
    connection.sendCopyFromChunk(this.#content)
    connection.endCopyFrom()
  }
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const copyText = (cell: string | null) =>
  cell === null ? '\\N' : cell.replace(/[\\\n\r\t]/g, (found) => escapes[found] ?? found)

export const openPostgresSide = async (url: string): Promise<StoreSide> => {
  const client = await connectTo(url)
  // The last statement of a move is synced, and with it everything before.
  await client.query('SET synchronous_commit = off')

  const read = async (text: string, values: Cells): Promise<Cells[]> =>
    (await client.query({ text, values: [...values], rowMode: 'array' })).rows

  const copyIn = (text: string, content: string) =>
    new Promise<void>((resolve, reject) => {
      const callback = (error: Error | null) => (error ? reject(error) : resolve())
      client.query(new CopyIn({ text, callback } as pg.QueryConfig, Buffer.from(content)))
    })

  return {
    async tables() {
      const { rows } = await client.query<CatalogRow>(catalog)
      return tablesOf(rows)
    },
    async count(table) {
      const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM "${table}"`)
      return Number(rows[0]?.count)
    },
    ...rowReads({ asText, given }, read),
    async insert({ name, columns }, rows) {
      const month = monthOf(name)
      const names = `${listOf(columns, quoted)}${month === undefined ? '' : ', month'}`
      const ending = month === undefined ? '\n' : `\t${month}\n`
      const lines = rows.map((row) => `${row.map(copyText).join('\t')}${ending}`)
      await copyIn(`COPY "${name}" (${names}) FROM STDIN`, lines.join(''))
    },
    async filling(move) {
      const { rows } = await client.query<CatalogRow>(catalog)
      return fillingOf(
        runnerOn(client),
        rows.map(({ table }) => table),
        move,
      )
    },
    async settle() {
      await client.query('ANALYZE')
    },
    close: () => client.end(),
  }
}
