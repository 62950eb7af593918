import { olderService, rolloverId, rolloverService } from '../../src/areas/billing/ledgers/rules.ts'
import { monthPeriod } from '../../src/areas/billing/payments/invoices/rules.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { dollarsOfUnits } from '../../src/lib/money.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, integerIn, isGone, textIn } from '../documents/fields.ts'
import { converted, draftOf, imported, type Notes, notesOf, unconverted } from './findings.ts'
import { fieldOf, object, objectIn, readFields, text } from './tables.ts'

// A month of an account is a book of its own, and may be read a document at a time. It begins with its rollover; without
// one with what older documents come to, if it has any, for up to 4.2 these were the balance together with ledgers;
// else with what the month before ended with.

/** What has to be known of a month before its first document is converted. */
export interface MonthOfAccount {
  accountId: string
  accountName: string
  /** Like 202611. */
  month: number
  /** Whether there is a document with the id of its rollover that is not deleted. */
  hasRollover: boolean
  /** Units that the month before ended with; undefined when no month before is known. */
  before: number | undefined
  /** `rollover_monthly_balance` of `system_config/ledgers`: false lets every month begin at nothing. */
  carriesOver: boolean
}

/** What documents of a month have come to so far: plain data, to be kept with the place in the source. Units. */
export interface BookSoFar {
  /** What the month says that it began with. */
  carried: number | undefined
  moved: number
  /** How many entries moved it. */
  entries: number
  /** How many older documents moved the balance. */
  older: number
}

export const emptyBook: BookSoFar = { carried: undefined, moved: 0, entries: 0, older: 0 }

/** A document of money, and what it does to the book. */
interface ConvertedMoney extends Converted {
  book: BookSoFar
}

const types: ReadonlySet<string> = new Set(['ledger', 'credit', 'debit', 'transaction'])

/** Whether a document of a month is one of these. */
export const isMoney = ({ type }: Pick<KazooDocument, 'type'>) => types.has(type)

// Both stand in one index, whose rows have room for this many letters of any alphabet.
const maxServiceLetters = 128
const maxIdLetters = 500

/** A text that can be stored as a column's value. */
const plain = (value: string, most = maxServiceLetters) => value.replaceAll('\0', '').slice(0, most)

const dollars = (units: number) => String(dollarsOfUnits(units))

/** Ids of months begin with theirs. */
const monthlyId = ({ database, id }: KazooDocument, month: number) => {
  if (id.startsWith(`${month}-`) && id.length <= maxServiceLetters) return id
  return `${month}-${/^[0-9a-f]{1,64}$/.test(id) ? id : derivedId(database, id, 'monthly')}`
}

/** The same where what follows the month has to be hexadecimal. */
const hexMonthlyId = (document: KazooDocument, month: number) => {
  const id = monthlyId(document, month)
  return /^\d{6}-[0-9a-f]+$/.test(id)
    ? id
    : `${month}-${derivedId(document.database, document.id, 'monthly')}`
}

const isId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{32}$/.test(id)

/** The account that an entry is about: another one in the book of a reseller. */
const accountOf = (
  id: string | undefined,
  name: string | undefined,
  { accountId, accountName }: MonthOfAccount,
) => (!isId(id) || id === accountId ? { id: accountId, name: name ?? accountName } : { id, name: name ?? id })

/** The account of an entry, under the name that it had then. */
const accountIn = (fields: Json, month: MonthOfAccount) =>
  accountOf(textIn(fields, 'account', 'id'), textIn(fields, 'account', 'name'), month)

/** Fields of entries and of movements that are the same in a record. */
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

/** Notes that a month does not begin with what the one before ended with. */
const noteBeginning = (carried: number, { before }: MonthOfAccount, { repaired }: Notes) => {
  if (carried === before || (before === undefined && carried === 0)) return
  const amounts = { field: 'amount', new: dollars(carried) }
  if (before === undefined) repaired('opening_balance', amounts)
  else repaired('rollover_differs', { ...amounts, old: dollars(before) })
}

/** The book after an entry, which begins the month or moves the balance. */
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
  // Only what begins a month is carried over and moves nothing.
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

/** What older documents say beside amounts. */
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

/** An older document as an entry of the ledger: in a month without a rollover. */
const olderEntry = (
  document: KazooDocument,
  month: MonthOfAccount,
  amount: number,
  book: BookSoFar,
): ConvertedMoney => {
  const { fields, id, type } = document
  const notes = notesOf(document)
  // Of several that say what was before, the first one does.
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

/** An older document beside a rollover, which contains it: a row of the older transactions. */
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

/** What the bookkeeper answered last. Whatever else it told, cards among it, stays behind. */
const answerIn = (fields: Json) => {
  const results: unknown = objectIn(fields, 'bookkeeper')?.results
  const last: unknown = Array.isArray(results) ? results.at(-1) : results
  return present({ reason: textIn(last, 'reason'), message: textIn(last, 'message') })
}

/** The bookkeeper of a movement or of an invoice. */
export const bookkeeperIn = (fields: Json, accountId: string) => ({
  id: textIn(fields, 'bookkeeper', 'id') ?? 'unknown',
  type: textIn(fields, 'bookkeeper', 'type') ?? 'unknown',
  vendor_id: textIn(fields, 'bookkeeper', 'vendor_id') ?? accountId,
})

/** How a movement ended. Of one that is still open nobody here finds out, and it is never asked for again. */
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

/** What becomes of a document of a month's money, and the book after it. */
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

/** What is left to be done when all documents of a month were converted. */
interface ClosedBook {
  drafts: readonly Draft[]
  findings: readonly Finding[]
  /** Units that the month ends with. */
  units: number
}

/** Ends a month. One that begins at nothing although something was there says so from now on. */
export const closeBook = (book: BookSoFar, database: string, month: MonthOfAccount): ClosedBook => {
  const { carried, moved, older } = book
  if (carried !== undefined) return { drafts: [], findings: [], units: carried + moved }
  const { accountId, accountName, before = 0, carriesOver } = month
  const isAnew = older > 0 || !carriesOver
  if (!isAnew || before === 0) return { drafts: [], findings: [], units: before + moved }
  const id = rolloverId(month.month)
  const { from } = monthPeriod(month.month)
  const notes = notesOf({ database, id })
  noteBeginning(0, month, notes)
  const draft = draftOf({ id, fields: { pvt_created: from } }, 'ledger', accountId, {
    doc: {
      source: { service: rolloverService, id: String(month.month) },
      usage: { type: 'month', quantity: 1, unit: 'month' },
      account: { id: accountId, name: accountName },
    },
    facts: { month: month.month, amount: 0 },
  })
  return { drafts: [draft], findings: notes.findings, units: moved }
}
