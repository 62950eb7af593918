import { olderService, rolloverId, rolloverService } from '../../src/areas/billing/ledgers/rules.ts'
import { monthPeriod } from '../../src/areas/billing/payments/invoices/rules.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { dollarsOfUnits } from '../../src/lib/money.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, integerIn, isGone, textIn } from '../documents/fields.ts'
import { converted, draftOf, finding, imported, type Notes, notesOf, unconverted } from './findings.ts'
import { fieldOf, object, objectIn, readFields, text } from './tables.ts'

// Each month of an account is a separate book that is read document by document. It begins with its
// rollover. Without one it begins with the sum of older documents (until 4.2 they and the ledgers were the
// balance), else with the end of the month before.

/** What has to be known of a month before its first document is converted. */
export interface MonthOfAccount {
  accountId: string
  accountName: string
  month: number
  /** A rollover that is not deleted. */
  hasRollover: boolean
  /** Units at the end of the month before; undefined if no month before is known. */
  before: number | undefined
  /** `rollover_monthly_balance` of `system_config/ledgers`: if false, every month begins at zero. */
  carriesOver: boolean
}

export interface BookSoFar {
  /** Units at the beginning, if a document contains them. */
  carried: number | undefined
  moved: number
  entries: number
  older: number
}

export const emptyBook: BookSoFar = { carried: undefined, moved: 0, entries: 0, older: 0 }

interface ConvertedMoney extends Converted {
  book: BookSoFar
}

const types: ReadonlySet<string> = new Set(['ledger', 'credit', 'debit', 'transaction'])

export const isMoney = ({ type }: Pick<KazooDocument, 'type'>) => types.has(type)

// Maximum lengths of two columns in one index.
const maxServiceLetters = 128
const maxIdLetters = 500

const plain = (value: string, most = maxServiceLetters) => value.replaceAll('\0', '').slice(0, most)

const dollars = (units: number) => String(dollarsOfUnits(units))

const monthlyId = ({ database, id }: KazooDocument, month: number) => {
  if (id.startsWith(`${month}-`) && id.length <= maxServiceLetters) return id
  return `${month}-${/^[0-9a-f]{1,64}$/.test(id) ? id : derivedId(database, id, 'monthly')}`
}

const hexMonthlyId = (document: KazooDocument, month: number) => {
  const id = monthlyId(document, month)
  return /^\d{6}-[0-9a-f]+$/.test(id)
    ? id
    : `${month}-${derivedId(document.database, document.id, 'monthly')}`
}

const isId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{32}$/.test(id)

/** In the book of a reseller an entry may be about another account. */
const accountOf = (
  id: string | undefined,
  name: string | undefined,
  { accountId, accountName }: MonthOfAccount,
) => (!isId(id) || id === accountId ? { id: accountId, name: name ?? accountName } : { id, name: name ?? id })

const accountIn = (fields: Json, month: MonthOfAccount) =>
  accountOf(textIn(fields, 'account', 'id'), textIn(fields, 'account', 'name'), month)

const entryFields = [
  text('description'),
  fieldOf((fields, key) => {
    const start = integerIn(fields, key, 'start')
    return start === undefined ? undefined : present({ start, end: integerIn(fields, key, 'end') })
  })('period'),
  object('metadata'),
  object('executor'),
  object('audit'),
]

const unread = (document: KazooDocument, book: BookSoFar, field: string): ConvertedMoney => ({
  ...unconverted(document, 'rejected', 'needs_hand', 'money_unreadable', { field }),
  book,
})

/** Reports a month that does not begin with the end of the one before. */
const noteBeginning = (
  carried: number,
  { before }: MonthOfAccount,
  { repaired }: Pick<Notes, 'repaired'>,
) => {
  if (carried === (before ?? 0)) return
  const amounts = { field: 'amount', new: dollars(carried) }
  if (before === undefined) repaired('opening_balance', amounts)
  else repaired('rollover_differs', { ...amounts, old: dollars(before) })
}

/** The entry begins the month or moves the balance. */
const bookAfter = (book: BookSoFar, amount: number, begins: boolean): BookSoFar =>
  begins ? { ...book, carried: amount } : { ...book, moved: book.moved + amount, entries: book.entries + 1 }

const signs: Readonly<Record<string, 1 | -1>> = { credit: 1, debit: -1 }

const convertLedger = (document: KazooDocument, month: MonthOfAccount, book: BookSoFar): ConvertedMoney => {
  const { id, fields } = document
  const sign = signs[textIn(fields, 'pvt_ledger_type') ?? '']
  const size = integerIn(fields, 'amount')
  if (sign === undefined) return unread(document, book, 'pvt_ledger_type')
  if (size === undefined) return unread(document, book, 'amount')
  const amount = sign * size + 0
  const notes = notesOf(document)
  const begins = id === rolloverId(month.month)
  const service = textIn(fields, 'source', 'service') ?? 'unknown'
  const sourceId = textIn(fields, 'source', 'id') ?? id
  // Only the entry that begins a month may be a rollover.
  const isRenamed = !begins && service === rolloverService
  if (begins) noteBeginning(amount, month, notes)
  if (isRenamed)
    notes.repaired('rollover_renamed', { field: 'source.service', old: rolloverService, new: olderService })
  if (size < 0) notes.repaired('amount_negative', { field: 'amount', old: dollars(size) })
  const ownService = plain(service) === rolloverService ? olderService : plain(service)
  const doc = {
    source: begins
      ? { service: rolloverService, id: sourceId }
      : { service: ownService, id: plain(sourceId, maxIdLetters) },
    usage: {
      type: plain(textIn(fields, 'usage', 'type') ?? 'unknown'),
      quantity: Math.max(0, integerIn(fields, 'usage', 'quantity') ?? 0),
      unit: plain(textIn(fields, 'usage', 'unit') ?? 'unknown'),
    },
    ...readFields(entryFields, fields, notes),
    account: accountIn(fields, month),
  }
  const facts = { month: month.month, amount }
  const content = { id: monthlyId(document, month.month), doc, facts, findings: notes.findings }
  return {
    ...imported(document, 'ledger', month.accountId, content),
    book: bookAfter(book, amount, begins),
  }
}

const rollUpReason = 'database_rollup'

const isRollUp = ({ id, fields }: KazooDocument) =>
  id === 'monthly_rollup' || textIn(fields, 'pvt_reason') === rollUpReason

const olderFacts = (fields: Json) =>
  present({
    reason: textIn(fields, 'pvt_reason'),
    code: integerIn(fields, 'pvt_code'),
    call_id: textIn(fields, 'call_id'),
    sub_account_id: textIn(fields, 'sub_account_id'),
  })

const olderAccount = (fields: Json, month: MonthOfAccount) => {
  const id = textIn(fields, 'sub_account_id')
  const isOther = isId(id) && id !== month.accountId
  return accountOf(id, isOther ? textIn(fields, 'sub_account_name') : undefined, month)
}

/** Used in a month without a rollover. */
const olderEntry = (
  document: KazooDocument,
  month: MonthOfAccount,
  amount: number,
  book: BookSoFar,
): ConvertedMoney => {
  const { fields, id, type } = document
  const notes = notesOf(document)
  // The first of several roll-ups begins the month.
  const begins = isRollUp(document) && book.carried === undefined
  if (begins) noteBeginning(amount, month, notes)
  const source = begins
    ? { service: rolloverService, id: String(month.month) }
    : { service: olderService, id: plain(textIn(fields, 'call_id') ?? id, maxIdLetters) }
  const doc = {
    source,
    usage: { type, quantity: 1, unit: 'transaction' },
    ...present({ description: textIn(fields, 'description') ?? textIn(fields, 'pvt_reason') }),
    metadata: olderFacts(fields),
    account: begins ? { id: month.accountId, name: month.accountName } : olderAccount(fields, month),
  }
  const facts = { month: month.month, amount }
  const entryId = begins ? rolloverId(month.month) : monthlyId(document, month.month)
  const content = { id: entryId, doc, facts, findings: notes.findings }
  return {
    ...imported(document, 'ledger', month.accountId, content),
    book: { ...bookAfter(book, amount, begins), older: book.older + 1 },
  }
}

/** Used in a month with a rollover, which already contains the amount. */
const olderTransaction = (document: KazooDocument, month: MonthOfAccount, amount: number) => {
  const { fields, type } = document
  const { accountId } = month
  const reason = textIn(fields, 'pvt_reason') ?? 'unknown'
  return imported(document, 'transaction', accountId, {
    id: hexMonthlyId(document, month.month),
    doc: {
      account: olderAccount(fields, month),
      description: textIn(fields, 'description') ?? reason,
      executor: { trigger: olderService, module: reason },
      bookkeeper: { id: olderService, type: olderService, vendor_id: accountId },
      metadata: olderFacts(fields),
    },
    facts: {
      type: type === 'credit' ? 'sale' : 'refund',
      status: 'completed',
      amount,
      result: { status: 'succeeded' },
    },
  })
}

const convertOlder = (document: KazooDocument, month: MonthOfAccount, book: BookSoFar): ConvertedMoney => {
  const { fields, type } = document
  const size = integerIn(fields, 'pvt_amount') ?? integerIn(fields, 'amount')
  if (size === undefined) return unread(document, book, 'pvt_amount')
  return month.hasRollover
    ? { ...olderTransaction(document, month, Math.abs(size)), book }
    : olderEntry(document, month, (type === 'credit' ? 1 : -1) * size + 0, book)
}

const transactionTypes: ReadonlySet<string> = new Set(['sale', 'refund'])
const unknownAtImport = 'unknown_at_import'

const answerIn = (fields: Json) => {
  const results: unknown = objectIn(fields, 'bookkeeper')?.results
  const last: unknown = Array.isArray(results) ? results.at(-1) : results
  return present({ reason: textIn(last, 'reason'), message: textIn(last, 'message') })
}

export const bookkeeperIn = (fields: Json, accountId: string) => ({
  id: textIn(fields, 'bookkeeper', 'id') ?? 'unknown',
  type: textIn(fields, 'bookkeeper', 'type') ?? 'unknown',
  vendor_id: textIn(fields, 'bookkeeper', 'vendor_id') ?? accountId,
})

/** Nobody can find out how an open payment ended; it is never requested again. */
const endOf = (fields: Json, { needsHand }: Notes) => {
  const status = textIn(fields, 'status')
  if (status === 'completed') return { status, result: { status: 'succeeded', ...answerIn(fields) } }
  if (status === 'failed') return { status, result: { status: 'declined', ...answerIn(fields) } }
  needsHand('payment_pending', { field: 'status', old: status ?? '', new: `failed: ${unknownAtImport}` })
  const message = 'it was not known how it ended when it was imported'
  return { status: 'failed', result: { status: 'declined', reason: unknownAtImport, message } }
}

const movementFields = [object('metadata'), text('order_id'), object('audit')]

const convertTransaction = (
  document: KazooDocument,
  month: MonthOfAccount,
  book: BookSoFar,
): ConvertedMoney => {
  const { fields } = document
  const size = integerIn(fields, 'amount') ?? integerIn(fields, 'pvt_amount')
  const type = textIn(fields, 'pvt_transaction_type') ?? textIn(fields, 'transaction_type') ?? ''
  if (size === undefined) return unread(document, book, 'amount')
  if (!transactionTypes.has(type)) return unread(document, book, 'pvt_transaction_type')
  const notes = notesOf(document)
  const doc = {
    account: accountIn(fields, month),
    description: textIn(fields, 'description') ?? '',
    executor: {
      trigger: textIn(fields, 'executor', 'trigger') ?? 'unknown',
      module: textIn(fields, 'executor', 'module') ?? 'unknown',
    },
    bookkeeper: bookkeeperIn(fields, month.accountId),
    ...readFields(movementFields, fields, notes),
  }
  const facts = { type, amount: Math.abs(size), ...endOf(fields, notes) }
  const id = hexMonthlyId(document, month.month)
  return {
    ...imported(document, 'transaction', month.accountId, { id, doc, facts, findings: notes.findings }),
    book,
  }
}

export const convertMoney = (
  document: KazooDocument,
  month: MonthOfAccount,
  book: BookSoFar,
): ConvertedMoney => {
  if (isGone(document.fields)) return { ...converted(document, 'skipped'), book }
  if (document.type === 'ledger') return convertLedger(document, month, book)
  return document.type === 'transaction'
    ? convertTransaction(document, month, book)
    : convertOlder(document, month, book)
}

interface ClosedBook {
  drafts: readonly Draft[]
  findings: readonly Finding[]
  units: number
}

/** A month that begins at zero after another balance gets a rollover of zero. */
export const closeBook = (book: BookSoFar, database: string, month: MonthOfAccount): ClosedBook => {
  const { carried, moved, older } = book
  if (carried !== undefined) return { drafts: [], findings: [], units: carried + moved }
  const { accountId, accountName, before = 0, carriesOver } = month
  const isAnew = older > 0 || !carriesOver
  if (!isAnew || before === 0) return { drafts: [], findings: [], units: before + moved }
  const id = rolloverId(month.month)
  const { from } = monthPeriod(month.month)
  const findings: Finding[] = []
  noteBeginning(0, month, {
    repaired: (code, details) => void findings.push(finding({ database, id }, 'repaired', code, details)),
  })
  const draft = draftOf({ id, fields: { pvt_created: from } }, 'ledger', accountId, {
    doc: {
      source: { service: rolloverService, id: String(month.month) },
      usage: { type: 'month', quantity: 1, unit: 'month' },
      account: { id: accountId, name: accountName },
    },
    facts: { month: month.month, amount: 0 },
  })
  return { drafts: [draft], findings, units: moved }
}
