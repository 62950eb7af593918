import type { Json } from '../../src/lib/json.ts'
import type { Row } from '../../src/storage/db.ts'
import type { Store } from '../../src/storage/store.ts'
import { integer, json, optional, shape, text } from '../../src/storage/table.ts'

// Rows that lie in tables of their own, of all accounts, in the order of their keys: read once, and never held together.

const entries = shape({
  accountId: text(),
  id: text(),
  created: integer(),
  month: integer(),
  amount: integer(),
  service: text('source_service'),
  sourceId: text(),
  usageType: text(),
  usageQuantity: integer(),
  usageUnit: text(),
  forAccountId: text(),
  details: json<Json>('doc'),
})

const transactions = shape({
  accountId: text(),
  id: text(),
  created: integer(),
  type: text(),
  status: text(),
  amount: integer(),
  doc: json<Json>(),
})

const audits = shape({
  accountId: text(),
  id: text(),
  created: integer(),
  status: text(),
  doc: json<Json>(),
  outcome: optional(json<Json>()),
})

const uses = shape({ accountId: text(), allotment: text(), minute: integer(), seconds: integer() })

const stock = shape({ accountId: text(), carrier: text(), number: text(), takenBy: text() })

type RowOf<S extends { list(rows: readonly Row[]): unknown[] }> = ReturnType<S['list']>[number]

/** An entry of a ledger as it is stored. Units: credits are positive, debits negative. */
export type LedgerRow = RowOf<typeof entries>
/** A movement of money as it is stored. Units, never negative. */
export type TransactionRow = RowOf<typeof transactions>
export type AuditRow = RowOf<typeof audits>
/** `minute`: the Gregorian second with which it begins. */
export type UseRow = RowOf<typeof uses>
/** A number that an account has in stock. `takenBy`: the account that has taken it out of the pool, or empty. */
export type StockRow = RowOf<typeof stock>

const rowsAtOnce = 500

export const createLeavingStore = ({ all, scan }: Store) => {
  async function* rowsOf<R>(
    from: string,
    key: readonly string[],
    { columns, list }: { columns: string; list(rows: readonly Row[]): R[] },
    placeOf: (row: R) => (string | number)[],
    first: (string | number)[],
  ): AsyncGenerator<R[]> {
    const names = key.join(', ')
    const places = key.map((_, index) => `$${index + 1}`).join(', ')
    const sql = `SELECT ${columns} FROM ${from} WHERE (${names}) > (${places})
      ORDER BY ${names} LIMIT ${rowsAtOnce}`
    for (let after = first; ; ) {
      const found = list(await scan(sql, after))
      if (found.length > 0) yield found
      const last = found.at(-1)
      if (!last || found.length < rowsAtOnce) return
      after = placeOf(last)
    }
  }

  const byId = <R extends { accountId: string; id: string }>(
    from: string,
    read: { columns: string; list(rows: readonly Row[]): R[] },
  ) => rowsOf(from, ['account_id', 'id'], read, ({ accountId, id }) => [accountId, id], ['', ''])

  return {
    entries: () => byId('ledger_entries', entries),
    transactions: () => byId('transactions', transactions),
    audits: () => byId('service_audit', audits),

    uses: () =>
      rowsOf(
        'allotment_uses',
        ['account_id', 'allotment', 'minute'],
        uses,
        ({ accountId, allotment, minute }) => [accountId, allotment, minute],
        ['', '', 0],
      ),

    stock: () =>
      rowsOf(
        'number_pools',
        ['account_id', 'carrier', 'number'],
        stock,
        ({ accountId, carrier, number }) => [accountId, carrier, number],
        ['', '', ''],
      ),

    /** The bytes of a task's input or the rows of its output; undefined where it has none, or more than `most`. */
    async taskFile(
      { accountId, id }: { accountId: string; id: string },
      name: 'in.csv' | 'out',
      most: number,
    ): Promise<Buffer | undefined> {
      const pieces: Uint8Array[] = []
      let bytes = 0
      for (let next = 0; ; ) {
        const [row] = await all<{ part: number; content: Uint8Array }>(
          `SELECT part, content FROM long_parts
            WHERE account_id = $1 AND run_id = $2 AND name = $3 AND part >= $4 ORDER BY part LIMIT 1`,
          [accountId, id, name, next],
        )
        if (!row) return pieces.length > 0 ? Buffer.concat(pieces) : undefined
        bytes += row.content.length
        if (bytes > most) return undefined
        pieces.push(row.content)
        next = row.part + 1
      }
    },
  }
}

export type LeavingStore = ReturnType<typeof createLeavingStore>
