// Inputs and outputs of runs, in parts of bounded size. What a dry run would charge, and price lists, are one part each, of JSON.
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import type { RunKey } from '../store.ts'

type PartName = 'in.csv' | 'out' | 'failed' | 'charges' | 'terms'

export interface Part {
  number: number
  /** Of the input: how many rows, the header included, stand in the parts before. */
  firstRow: number
  content: Buffer
}

interface PartRow {
  part: number
  first_row: number
  content: Uint8Array
}

const toPart = ({ part, first_row, content }: PartRow): Part => ({
  number: part,
  firstRow: first_row,
  content: Buffer.from(content.buffer, content.byteOffset, content.length),
})

const insertPart = `INSERT INTO long_parts (account_id, run_id, name, part, first_row, content)
  VALUES ($1, $2, $3, $4, $5, $6)`

// Parts removed in one transaction: some megabytes.
const partsRemovedAtOnce = 20

export const createPartStore = ({ all, writeUnrecorded }: Store) => ({
  /** Stores a part. */
  statement: ({ accountId, id }: RunKey, name: PartName, part: Part): Statement => ({
    sql: insertPart,
    params: [accountId, id, name, part.number, part.firstRow, part.content],
  }),

  /** The parts of a CSV (or of JSON), from the first or from a number on. */
  async *read({ accountId, id }: RunKey, name: PartName, from = 0): AsyncGenerator<Part> {
    for (let next = from; ; ) {
      const [row] = await all<PartRow>(
        `SELECT part, first_row, content FROM long_parts
            WHERE account_id = $1 AND run_id = $2 AND name = $3 AND part >= $4 ORDER BY part LIMIT 1`,
        [accountId, id, name, next],
      )
      if (!row) return
      yield toPart(row)
      next = row.part + 1
    }
  },

  /** The number of the part of the input in which a row stands. */
  async numberOfRow({ accountId, id }: RunKey, row: number): Promise<number> {
    const [found] = await all<{ part: number }>(
      `SELECT part FROM long_parts
          WHERE account_id = $1 AND run_id = $2 AND name = 'in.csv' AND first_row <= $3 ORDER BY part DESC LIMIT 1`,
      [accountId, id, row],
    )
    return found?.part ?? 0
  },

  /** Removes all parts, in transactions of bounded size. */
  async removeAll({ accountId, id }: RunKey) {
    for (;;) {
      const parts = await all<{ name: string; part: number }>(
        'SELECT name, part FROM long_parts WHERE account_id = $1 AND run_id = $2 LIMIT $3',
        [accountId, id, partsRemovedAtOnce],
      )
      if (parts.length === 0) return
      await writeUnrecorded(
        parts.map(({ name, part }) => ({
          sql: 'DELETE FROM long_parts WHERE account_id = $1 AND run_id = $2 AND name = $3 AND part = $4',
          params: [accountId, id, name, part],
        })),
      )
    }
  },
})
