import type { Json } from '../../../src/lib/json.ts'
import { derivedId } from '../../documents/derived-id.ts'
import { type LeavingDocument, monthDatabase, present, stamped } from '../document.ts'

/** An entry of a ledger as it is stored. Units: credits are positive, debits negative. */
export interface LedgerRow {
  accountId: string
  id: string
  created: number
  month: number
  amount: number
  service: string
  sourceId: string
  usageType: string
  usageQuantity: number
  usageUnit: string
  forAccountId: string
  details: Json
}

const ofMonth = (
  type: string,
  { accountId, id, created }: { accountId: string; id: string; created: number },
  month: number,
  fields: Json,
): LeavingDocument => {
  const database = monthDatabase(accountId, month)
  const times = { created, modified: created }
  return {
    database,
    id,
    type,
    fields: { ...present(fields), ...stamped(type, accountId, times, database) },
    files: [],
  }
}

/** An entry; what carries a balance over is one, too: there a month is the sum of its own entries. */
export const leavingEntry = (row: LedgerRow): LeavingDocument => {
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

/** A movement of money as it is stored. Units, never negative. */
export interface TransactionRow {
  accountId: string
  id: string
  created: number
  type: string
  status: string
  amount: number
  doc: Json
}

const monthOf = (id: string) => Number(id.slice(0, 6))

// What a card is called at a gateway of ours is of no use there.
const ofGateway = ['means', 'sale', 'result', 'bookkeeper', 'currency', 'ledger_id', 'invoice_id']

/** A movement of money; one whose end is not known is open there as well. */
export const leavingTransaction = (row: TransactionRow): LeavingDocument => {
  const { bookkeeper, result } = row.doc
  const said = Object.fromEntries(Object.entries(row.doc).filter(([key]) => !ofGateway.includes(key)))
  return ofMonth('transaction', row, monthOf(row.id), {
    ...said,
    amount: row.amount,
    status: row.status === 'unknown' ? 'pending' : row.status,
    bookkeeper: { ...(bookkeeper as Json), results: result === undefined ? [] : [result] },
    pvt_transaction_type: row.type,
  })
}

export interface AuditRow {
  accountId: string
  id: string
  created: number
  status: string
  doc: Json
  outcome: Json | undefined
}

/** What changed on an invoice. */
export const leavingAudit = (row: AuditRow): LeavingDocument => {
  const { results = [], ...answer } = row.outcome ?? {}
  const { bookkeeper } = row.doc
  return ofMonth('audit_log', row, monthOf(row.id), {
    ...row.doc,
    status: row.status,
    ...answer,
    bookkeeper: { ...(bookkeeper as Json), results },
  })
}

export interface UseRow {
  accountId: string
  allotment: string
  /** Gregorian second with which it begins. */
  minute: number
  seconds: number
}

/** What of an allotment was used in a minute. */
export const leavingUse = (use: UseRow, month: number): LeavingDocument => {
  const { accountId, allotment, minute, seconds } = use
  const hex = derivedId(monthDatabase(accountId, month), String(minute), allotment)
  return ofMonth('allotment_consumption', { accountId, id: `${month}-${hex}`, created: minute }, month, {
    name: allotment,
    classification: allotment,
    seconds,
    account_id: accountId,
  })
}
