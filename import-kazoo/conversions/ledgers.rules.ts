import { olderService, rolloverId, rolloverService } from '../../src/areas/billing/ledgers/rules.ts'
import { monthPeriod } from '../../src/areas/billing/payments/invoices/rules.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { dollarsOfUnits } from '../../src/lib/money.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, integerIn, isGone, textIn } from '../documents/fields.ts'
import { type Conversion, conversionOf, converted, draftOf, finding, unconverted } from './findings.ts'
import { fieldOf, object, objectIn, readFields, text } from './tables.ts'

// Each month of an account is a separate book that is read document by document. It begins with its
// rollover. Without one it begins with the sum of older documents (until 4.2 they and the ledgers were the
// balance), else with the end of the month before.

/** Needed before the first document of a month is converted. */
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

type MonthConversion = Conversion<MonthOfAccount>

// Maximum lengths of two columns in one index.
const maxServiceLetters = 128
const maxIdLetters = 500

const plain = (value: string, most = maxServiceLetters) => value.replaceAll('\0', '').slice(0, most)

const dollars = (units: number) => String(dollarsOfUnits(units))

const monthlyId = ({ database, id, month }: MonthConversion, form = /^/) =>
  id.startsWith(`${month}-`) && id.length <= maxServiceLetters && form.test(id)
    ? id
    : `${month}-${/^[0-9a-f]{1,64}$/.test(id) ? id : derivedId(database, id, 'monthly')}`

const hexForm = /^\d{6}-[0-9a-f]+$/

/** In the book of a reseller an entry may be about another account. */
const accountOf = (
  { accountId, accountName }: MonthOfAccount,
  id: string | undefined,
  name: string | undefined,
  ownName = accountName,
) =>
  id === undefined || id === accountId || !/^[0-9a-f]{32}$/.test(id)
    ? { id: accountId, name: ownName }
    : { id, name: name ?? id }

const accountIn = (conversion: MonthConversion) => {
  const { account } = conversion.fields
  const name = textIn(account, 'name')
  return accountOf(conversion, textIn(account, 'id'), name, name)
}

const olderAccount = (conversion: MonthConversion) => {
  const { fields } = conversion
  return accountOf(conversion, textIn(fields, 'sub_account_id'), textIn(fields, 'sub_account_name'))
}

const unread = ({ document }: MonthConversion, field: string) =>
  unconverted(document, 'rejected', 'needs_hand', 'money_unreadable', { field })

/** Reports a month that does not begin with the end of the one before. */
const noteBeginning = (
  carried: number,
  { before, repaired }: Pick<MonthConversion, 'before' | 'repaired'>,
) => {
  if (carried === (before ?? 0)) return
  const amounts = { field: 'amount', new: dollars(carried) }
  if (before === undefined) repaired('opening_balance', amounts)
  else repaired('rollover_differs', { ...amounts, old: dollars(before) })
}

type ConvertedMoney = Converted & { book: BookSoFar }

type Convert = (conversion: MonthConversion, book: BookSoFar) => Converted & Partial<ConvertedMoney>

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

interface Entry {
  id: string
  amount: number
  /** Begins the month instead of moving its balance. */
  begins: boolean
  doc: Json
}

const entryOf = (
  { id, amount, begins, doc }: Entry,
  { accountId, month, imported }: MonthConversion,
  book: BookSoFar,
) => ({
  ...imported('ledger', accountId, { id, doc, facts: { month, amount } }),
  book: begins
    ? { ...book, carried: amount }
    : { ...book, moved: book.moved + amount, entries: book.entries + 1 },
})

const signs: Readonly<Record<string, 1 | -1>> = { credit: 1, debit: -1 }

const convertLedger: Convert = (conversion, book) => {
  const { id, fields, month, repaired } = conversion
  const sign = signs[textIn(fields, 'pvt_ledger_type') ?? '']
  const size = integerIn(fields, 'amount')
  if (sign === undefined) return unread(conversion, 'pvt_ledger_type')
  if (size === undefined) return unread(conversion, 'amount')
  const amount = sign * size + 0
  const begins = id === rolloverId(month)
  const service = textIn(fields, 'source', 'service') ?? 'unknown'
  const sourceId = textIn(fields, 'source', 'id') ?? id
  if (begins) noteBeginning(amount, conversion)
  // Only the entry that begins a month may be a rollover.
  else if (service === rolloverService)
    repaired('rollover_renamed', { field: 'source.service', old: rolloverService, new: olderService })
  if (size < 0) repaired('amount_negative', { field: 'amount', old: dollars(size) })
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
    ...readFields(entryFields, fields, conversion),
    account: accountIn(conversion),
  }
  return entryOf({ id: monthlyId(conversion), amount, begins, doc }, conversion, book)
}

const isRollUp = ({ id, fields }: KazooDocument) =>
  id === 'monthly_rollup' || textIn(fields, 'pvt_reason') === 'database_rollup'

const olderFacts = (fields: Json) =>
  present({
    reason: textIn(fields, 'pvt_reason'),
    code: integerIn(fields, 'pvt_code'),
    call_id: textIn(fields, 'call_id'),
    sub_account_id: textIn(fields, 'sub_account_id'),
  })

/** Used in a month without a rollover. */
const olderEntry = (conversion: MonthConversion, amount: number, book: BookSoFar) => {
  const { fields, id, type, month } = conversion
  // The first of several roll-ups begins the month.
  const begins = isRollUp(conversion) && book.carried === undefined
  if (begins) noteBeginning(amount, conversion)
  const doc = {
    source: begins
      ? { service: rolloverService, id: String(month) }
      : { service: olderService, id: plain(textIn(fields, 'call_id') ?? id, maxIdLetters) },
    usage: { type, quantity: 1, unit: 'transaction' },
    ...present({ description: textIn(fields, 'description') ?? textIn(fields, 'pvt_reason') }),
    metadata: olderFacts(fields),
    account: olderAccount(begins ? { ...conversion, fields: {} } : conversion),
  }
  const entryId = begins ? rolloverId(month) : monthlyId(conversion)
  const counted = { ...book, older: book.older + 1 }
  return entryOf({ id: entryId, amount, begins, doc }, conversion, counted)
}

/** Used in a month with a rollover, which already contains the amount. */
const olderTransaction = (conversion: MonthConversion, amount: number) => {
  const { fields, type, accountId } = conversion
  const reason = textIn(fields, 'pvt_reason') ?? 'unknown'
  return conversion.imported('transaction', accountId, {
    id: monthlyId(conversion, hexForm),
    doc: {
      account: olderAccount(conversion),
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

const convertOlder: Convert = (conversion, book) => {
  const { fields, type, hasRollover } = conversion
  const size = integerIn(fields, 'pvt_amount') ?? integerIn(fields, 'amount')
  if (size === undefined) return unread(conversion, 'pvt_amount')
  return hasRollover
    ? olderTransaction(conversion, Math.abs(size))
    : olderEntry(conversion, (type === 'credit' ? 1 : -1) * size + 0, book)
}

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

/** The result of an open payment cannot be found out; it is never requested again. */
const endOf = ({ fields, needsHand }: MonthConversion) => {
  const status = textIn(fields, 'status')
  if (status === 'completed') return { status, result: { status: 'succeeded', ...answerIn(fields) } }
  if (status === 'failed') return { status, result: { status: 'declined', ...answerIn(fields) } }
  needsHand('payment_pending', { field: 'status', old: status ?? '', new: `failed: ${unknownAtImport}` })
  const message = 'its result was unknown when it was imported'
  return { status: 'failed', result: { status: 'declined', reason: unknownAtImport, message } }
}

const movementFields = [object('metadata'), text('order_id'), object('audit')]

const convertTransaction: Convert = (conversion) => {
  const { fields, accountId } = conversion
  const size = integerIn(fields, 'amount') ?? integerIn(fields, 'pvt_amount')
  const type = textIn(fields, 'pvt_transaction_type') ?? textIn(fields, 'transaction_type') ?? ''
  if (size === undefined) return unread(conversion, 'amount')
  if (type !== 'sale' && type !== 'refund') return unread(conversion, 'pvt_transaction_type')
  const doc = {
    account: accountIn(conversion),
    description: textIn(fields, 'description') ?? '',
    executor: {
      trigger: textIn(fields, 'executor', 'trigger') ?? 'unknown',
      module: textIn(fields, 'executor', 'module') ?? 'unknown',
    },
    bookkeeper: bookkeeperIn(fields, accountId),
    ...readFields(movementFields, fields, conversion),
  }
  const facts = { type, amount: Math.abs(size), ...endOf(conversion) }
  return conversion.imported('transaction', accountId, { id: monthlyId(conversion, hexForm), doc, facts })
}

const conversions: Readonly<Record<string, Convert>> = {
  ledger: convertLedger,
  transaction: convertTransaction,
  credit: convertOlder,
  debit: convertOlder,
}

export const isMoney = ({ type }: Pick<KazooDocument, 'type'>) => Object.hasOwn(conversions, type)

export const convertMoney = (
  document: KazooDocument,
  month: MonthOfAccount,
  book: BookSoFar,
): ConvertedMoney => {
  const convert = isGone(document.fields) ? undefined : conversions[document.type]
  return { book, ...(convert?.(conversionOf(document, month), book) ?? converted(document, 'skipped')) }
}

/** A month that begins at zero after another balance gets a rollover of zero. */
export const closeBook = (book: BookSoFar, database: string, month: MonthOfAccount) => {
  const { carried, moved, older } = book
  const { accountId, accountName, before = 0, carriesOver } = month
  const beginsAnew = carried === undefined && before !== 0 && (older > 0 || !carriesOver)
  if (!beginsAnew) return { drafts: [], findings: [], units: (carried ?? before) + moved }
  const id = rolloverId(month.month)
  const findings: Finding[] = []
  noteBeginning(0, {
    before,
    repaired: (code, details) => void findings.push(finding({ database, id }, 'repaired', code, details)),
  })
  const draft = draftOf({ id, fields: { pvt_created: monthPeriod(month.month).from } }, 'ledger', accountId, {
    doc: {
      source: { service: rolloverService, id: String(month.month) },
      usage: { type: 'month', quantity: 1, unit: 'month' },
      account: { id: accountId, name: accountName },
    },
    facts: { month: month.month, amount: 0 },
  })
  return { drafts: [draft], findings, units: moved }
}
