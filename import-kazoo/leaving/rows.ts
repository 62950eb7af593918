// The documents of rows that are stored in tables of their own: money, call records, stock.
import type { Json } from '../../src/lib/json.ts'
import { accountDatabase, encodedDatabaseName } from '../documents/database-names.ts'
import { derivedId } from '../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from './document.ts'
import type { AuditRow, LedgerRow, StockRow, TransactionRow, UseRow } from './store.ts'

/** The database of one month of an account. */
const monthDatabase = (accountId: string, month: number) => `${accountDatabase(accountId)}-${month}`

/** The document of something that never changes, in the database of its month. */
const ofMonth = (
  type: string,
  { accountId, id, created }: Pick<OwnRecord, 'accountId' | 'id' | 'created'>,
  month: number,
  fields: Json,
) =>
  exported(
    type,
    { accountId, id, created, modified: created },
    { database: monthDatabase(accountId, month), fields },
  )

/** The month with which an id begins. */
const monthOfId = (id: string) => Number(id.slice(0, 6))

/** The document of an entry; a balance that is carried over is one, too: there a month is the sum of its own entries. */
export const exportEntry = (row: LedgerRow) => {
  const { reckoned: _, ...details } = row.details
  return ofMonth('ledger', row, row.month, {
    account: { id: row.forAccountId },
    ...details,
    source: { service: row.service, id: row.sourceId },
    usage: { type: row.usageType, quantity: row.usageQuantity, unit: row.usageUnit },
    amount: Math.abs(row.amount),
    pvt_ledger_type: row.amount < 0 ? 'debit' : 'credit',
  })
}

// What a card is called at a gateway of ours is of no use there.
const ofGateway = ['means', 'sale', 'result', 'bookkeeper', 'currency', 'ledger_id', 'invoice_id']

/** The document of a movement of money; one whose end is not known is open there as well. */
export const exportTransaction = (row: TransactionRow) => {
  const { bookkeeper, result } = row.doc
  const others = Object.entries(row.doc).filter(([key]) => !ofGateway.includes(key))
  return ofMonth('transaction', row, monthOfId(row.id), {
    ...Object.fromEntries(others),
    amount: row.amount,
    status: row.status === 'unknown' ? 'pending' : row.status,
    bookkeeper: { ...(bookkeeper as Json), results: result === undefined ? [] : [result] },
    pvt_transaction_type: row.type,
  })
}

/** The document of what changed on an invoice. */
export const exportAudit = (row: AuditRow) => {
  const { results = [], ...answer } = row.outcome ?? {}
  const { bookkeeper } = row.doc
  return ofMonth('audit_log', row, monthOfId(row.id), {
    ...row.doc,
    status: row.status,
    ...answer,
    bookkeeper: { ...(bookkeeper as Json), results },
  })
}

/** The document of what an account has used of an allotment in one minute. */
export const exportUse = ({ accountId, allotment, minute, seconds }: UseRow, month: number) => {
  const hex = derivedId(monthDatabase(accountId, month), String(minute), allotment)
  const row = { accountId, id: `${month}-${hex}`, created: minute }
  const fields = { name: allotment, classification: allotment, seconds, account_id: accountId }
  return ofMonth('allotment_consumption', row, month, fields)
}

/** The document of a leg. `id`: `YYYYMM-<call id>`; its month is that of its interaction, as it stands here. */
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
    // As 4.3 writes them.
    { database: monthDatabase(accountId, monthOfId(id)), fields, more: { pvt_vsn: '2' } },
  )
}

const pools: Readonly<Record<string, string>> = { knm_managed: 'numbers/managed', knm_inum: 'numbers/inum' }

/** The document of a number that an account has in stock; other carriers have no pool there. */
export const exportStock = ({ accountId, carrier, number, takenBy }: StockRow): LeavingDocument[] => {
  const database = pools[carrier]
  if (database === undefined) return []
  const fields = {
    pvt_type: 'number',
    pvt_db_name: encodedDatabaseName(database),
    pvt_module_name: carrier,
    pvt_assigned_to: accountId,
    pvt_state: takenBy === '' ? 'available' : 'in_service',
  }
  return [{ database, id: number, type: 'number (stock)', fields, files: [] }]
}
