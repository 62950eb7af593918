import { createPartStore, type RunKey } from '../../src/batches/store.ts'
import type { Json } from '../../src/lib/json.ts'
import { pagesOf } from '../../src/lib/list.ts'
import type { Row } from '../../src/storage/db.ts'
import type { Store } from '../../src/storage/store.ts'
import type { RowOf } from '../../src/storage/table.ts'
import { integer, json, keyset, optional, shape, snakeCase, text } from '../../src/storage/table.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { derivedId } from '../documents/fields.ts'
import { type ExportedDocument, exported, exportedNumber, type OwnRecord } from './document.ts'

// Rows of other tables, in the order of their keys; read page by page.

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

type LedgerRow = RowOf<typeof entries>
/** Units, never negative. */
type TransactionRow = RowOf<typeof transactions>
type AuditRow = RowOf<typeof audits>
type UseRow = RowOf<typeof uses>
type StockRow = RowOf<typeof stock>

const rowsAtOnce = 500

export const createExportRows = (store: Store) => {
  const parts = createPartStore(store)

  /** `start`: the fields of the key, with values before the first row. */
  const rowsOf = <R>(
    from: string,
    { columns, list }: { columns: string; list(rows: readonly Row[]): R[] },
    start: { [Field in keyof R]?: string | number },
  ) => {
    const key = Object.keys(start) as (keyof R & string)[]
    const { behind, order } = keyset(key.map(snakeCase), false)
    const sql = `SELECT ${columns} FROM ${from} WHERE ${behind(1)} ORDER BY ${order} LIMIT ${rowsAtOnce}`
    return pagesOf<R>(rowsAtOnce, async (last) => {
      const after = key.map((field) => (last ?? start)[field] as string | number)
      return list(await store.scan(sql, after))
    })
  }
  const byId = { accountId: '', id: '' }

  return {
    entries: () => rowsOf('ledger_entries', entries, byId),
    transactions: () => rowsOf('transactions', transactions, byId),
    audits: () => rowsOf('service_audit', audits, byId),
    uses: () => rowsOf('allotment_uses', uses, { accountId: '', allotment: '', minute: 0 }),
    stock: () => rowsOf('number_pools', stock, { accountId: '', carrier: '', number: '' }),

    /** Undefined if there is none, or more than `most`. */
    async taskFile(run: RunKey, name: 'in.csv' | 'out', most: number): Promise<Buffer | undefined> {
      const pieces: Uint8Array[] = []
      let bytes = 0
      for await (const { content } of parts.read(run, name)) {
        bytes += content.length
        if (bytes > most) return undefined
        pieces.push(content)
      }
      return pieces.length > 0 ? Buffer.concat(pieces) : undefined
    },
  }
}

export type ExportRows = ReturnType<typeof createExportRows>

const monthDatabase = (accountId: string, month: number) => `${accountDatabase(accountId)}-${month}`

const ofMonth = (
  type: string,
  { accountId, id, created }: Pick<OwnRecord, 'accountId' | 'id' | 'created'>,
  fields: Json,
  month = Number(id.slice(0, 6)),
) => {
  const record = { accountId, id, created, modified: created }
  return exported(type, record, { database: monthDatabase(accountId, month), fields })
}

/** Rollovers are entries, too: in Kazoo a month is the sum of its entries. */
export const exportEntry = (row: LedgerRow) => {
  const { reckoned: _, ...details } = row.details
  const fields = {
    account: { id: row.forAccountId },
    ...details,
    source: { service: row.service, id: row.sourceId },
    usage: { type: row.usageType, quantity: row.usageQuantity, unit: row.usageUnit },
    amount: Math.abs(row.amount),
    pvt_ledger_type: row.amount < 0 ? 'debit' : 'credit',
  }
  return ofMonth('ledger', row, fields, row.month)
}

// Fields of our payment gateway.
const ofGateway = ['means', 'sale', 'result', 'bookkeeper', 'currency', 'ledger_id', 'invoice_id']

/** Payments with an unknown result are pending in Kazoo. */
export const exportTransaction = (row: TransactionRow) => {
  const { bookkeeper, result } = row.doc
  const others = Object.entries(row.doc).filter(([key]) => !ofGateway.includes(key))
  return ofMonth('transaction', row, {
    ...Object.fromEntries(others),
    amount: row.amount,
    status: row.status === 'unknown' ? 'pending' : row.status,
    bookkeeper: { ...(bookkeeper as Json), results: result === undefined ? [] : [result] },
    pvt_transaction_type: row.type,
  })
}

export const exportAudit = (row: AuditRow) => {
  const { results = [], ...answer } = row.outcome ?? {}
  const { bookkeeper } = row.doc
  return ofMonth('audit_log', row, {
    ...row.doc,
    status: row.status,
    ...answer,
    bookkeeper: { ...(bookkeeper as Json), results },
  })
}

export const exportUse = ({ accountId, allotment, minute, seconds }: UseRow, month: number) => {
  const hex = derivedId(monthDatabase(accountId, month), String(minute), allotment)
  const row = { accountId, id: `${month}-${hex}`, created: minute }
  const fields = { name: allotment, classification: allotment, seconds, account_id: accountId }
  return ofMonth('allotment_consumption', row, fields)
}

/** `id`: `YYYYMM-<call id>`. */
export const exportCall = ({
  accountId,
  id,
  document,
}: {
  accountId: string
  id: string
  document: Json
}) => {
  const { id: _, ...fields } = document
  const at = Number(fields.timestamp)
  return exported(
    'cdr',
    { accountId, id, created: at, modified: at },
    // The version of 4.3.
    { database: monthDatabase(accountId, Number(id.slice(0, 6))), fields, more: { pvt_vsn: '2' } },
  )
}

const pools: Readonly<Record<string, string>> = { knm_managed: 'numbers/managed', knm_inum: 'numbers/inum' }

/** Only two carriers have pools in Kazoo. */
export const exportStock = ({ accountId, carrier, number, takenBy }: StockRow): ExportedDocument[] => {
  const database = pools[carrier]
  if (database === undefined) return []
  const more = {
    pvt_module_name: carrier,
    pvt_assigned_to: accountId,
    pvt_state: takenBy === '' ? 'available' : 'in_service',
  }
  return [exportedNumber('number (stock)', { database, id: number }, more)]
}
