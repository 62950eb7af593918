import { createHash } from 'node:crypto'
import { type Cells, keyOf, type MovedTable, type StoreSide } from './tables.ts'

// Rows at once: few of a table whose rows may be large, many of one whose rows have turned out to be small.
const leastRows = 50
const maxRows = 5000
const pageCharacters = 8_000_000

const charactersOf = (rows: readonly Cells[]) => {
  let sum = 0
  for (const row of rows) for (const cell of row) sum += cell?.length ?? 0
  return sum
}

/** The rows of a table behind a key, in its order. */
async function* pagesOf(side: StoreSide, table: MovedTable, begin?: Cells): AsyncGenerator<Cells[]> {
  let [after, limit] = [begin, leastRows]
  for (;;) {
    const rows = await side.page(table, after, limit)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = keyOf(table, last)
    const fitting = Math.floor((pageCharacters * rows.length) / Math.max(1, charactersOf(rows)))
    limit = Math.max(1, Math.min(fitting, 4 * limit, maxRows))
  }
}

/**
 * Copies the rows of a table that the other side does not have yet. Rows are added in the order of the primary key, so
 * the last one shows how far a copy that was interrupted had come. No other process may write on either side.
 */
export const copyRows = async (
  from: StoreSide,
  to: StoreSide,
  table: MovedTable,
  onRows: (count: number) => void,
): Promise<void> => {
  for await (const rows of pagesOf(from, table, await to.lastKey(table))) {
    await to.insert(table, rows)
    onRows(rows.length)
  }
}

interface TableDigest {
  rows: number
  sha256: string
}

export const digestOf = async (side: StoreSide, table: MovedTable): Promise<TableDigest> => {
  const hash = createHash('sha256')
  let count = 0
  for await (const rows of pagesOf(side, table)) {
    hash.update(`${JSON.stringify(rows).slice(1, -1)},`)
    count += rows.length
  }
  return { rows: count, sha256: hash.digest('hex') }
}
