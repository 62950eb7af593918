import { olderService, rolloverId, rolloverService } from '../../../src/areas/ledgers/rules.ts'
import { monthPeriod } from '../../../src/areas/payments/invoices/rules.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import { dollarsOfUnits } from '../../../src/lib/money.ts'
import { derivedId } from '../../documents/derived-id.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../../documents/document.ts'
import { integerIn, isGone, textIn, timesOf } from '../../documents/fields.ts'

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
export interface ConvertedMoney extends Converted {
  book: BookSoFar
}

const types: ReadonlySet<string> = new Set(['ledger', 'credit', 'debit', 'transaction'])

/** Whether a document of a month is one of these. */
export const isMoney = ({ type }: Pick<KazooDocument, 'type'>) => types.has(type)

// Both stand in one index, whose rows have room for this many letters of any alphabet.
const mostServiceLetters = 128
const mostIdLetters = 500

/** A text that can be stored as a column's value. */
const plain = (text: string, most = mostServiceLetters) => text.replaceAll('\0', '').slice(0, most)

const dollars = (units: number) => String(dollarsOfUnits(units))

type Said = Omit<Finding, 'database' | 'id'>

const found = ({ database, id }: KazooDocument, said: Said): Finding => ({ database, id, ...said })

/** Ids of months begin with theirs. */
const monthlyId = ({ database, id }: KazooDocument, month: number) => {
  if (id.startsWith(`${month}-`) && id.length <= mostServiceLetters) return id
  return `${month}-${/^[0-9a-f]{1,64}$/.test(id) ? id : derivedId(database, id, 'monthly')}`
}

/** The same where what follows the month has to be hexadecimal. */
const hexMonthlyId = (document: KazooDocument, month: number) => {
  const id = monthlyId(document, month)
  return /^\d{6}-[0-9a-f]+$/.test(id)
    ? id
    : `${month}-${derivedId(document.database, document.id, 'monthly')}`
}

const given = <T>(key: string, value: T | undefined) => (value === undefined ? {} : { [key]: value })

const objectIn = (fields: Json, key: string) => (isObject(fields[key]) ? fields[key] : undefined)

const isId = (text: string | undefined): text is string => text !== undefined && /^[0-9a-f]{32}$/.test(text)

/** The account that an entry is about, under the name that it had then: another one in the book of a reseller. */
const accountIn = (fields: Json, { accountId, accountName }: MonthOfAccount) => {
  const id = textIn(fields, 'account', 'id')
  const name = textIn(fields, 'account', 'name')
  return !isId(id) || id === accountId
    ? { id: accountId, name: name ?? accountName }
    : { id, name: name ?? id }
}

const usageIn = (fields: Json) => ({
  type: plain(textIn(fields, 'usage', 'type') ?? 'unknown'),
  quantity: Math.max(0, integerIn(fields, 'usage', 'quantity') ?? 0),
  unit: plain(textIn(fields, 'usage', 'unit') ?? 'unknown'),
})

const periodIn = (fields: Json) => {
  const start = integerIn(fields, 'period', 'start')
  return start === undefined ? undefined : { start, ...given('end', integerIn(fields, 'period', 'end')) }
}

const draftOf = (
  document: KazooDocument,
  place: Pick<Draft, 'as' | 'accountId' | 'id' | 'doc' | 'facts'>,
): Draft => ({
  ...place,
  ...timesOf(document.fields),
  files: [],
})

const rejected = (document: KazooDocument, book: BookSoFar, field: string): ConvertedMoney => ({
  document,
  outcome: 'rejected',
  drafts: [],
  findings: [found(document, { severity: 'needs_hand', code: 'money_unreadable', field })],
  book,
})

/** What is told when a month does not begin with what the one before ended with. */
const beginning = (carried: number, { before }: MonthOfAccount): Said[] => {
  if (carried === before || (before === undefined && carried === 0)) return []
  return before === undefined
    ? [{ severity: 'repaired', code: 'opening_balance', field: 'amount', new: dollars(carried) }]
    : [
        {
          severity: 'repaired',
          code: 'rollover_differs',
          field: 'amount',
          old: dollars(before),
          new: dollars(carried),
        },
      ]
}

const movedBy = (book: BookSoFar, amount: number): BookSoFar => ({
  ...book,
  moved: book.moved + amount,
  entries: book.entries + 1,
})

const signs: Readonly<Record<string, 1 | -1>> = { credit: 1, debit: -1 }

const isRollover = ({ id }: KazooDocument, { month }: MonthOfAccount) => id === rolloverId(month)

const sourceIn = (document: KazooDocument, month: MonthOfAccount) => {
  const { fields, id } = document
  const service = plain(textIn(fields, 'source', 'service') ?? 'unknown')
  if (isRollover(document, month))
    return { service: rolloverService, id: textIn(fields, 'source', 'id') ?? id }
  return {
    // Only what begins a month is carried over and moves nothing.
    service: service === rolloverService ? olderService : service,
    id: plain(textIn(fields, 'source', 'id') ?? id, mostIdLetters),
  }
}

const convertLedger = (document: KazooDocument, month: MonthOfAccount, book: BookSoFar): ConvertedMoney => {
  const { fields } = document
  const sign = signs[textIn(fields, 'pvt_ledger_type') ?? '']
  const size = integerIn(fields, 'amount')
  if (sign === undefined) return rejected(document, book, 'pvt_ledger_type')
  if (size === undefined) return rejected(document, book, 'amount')
  const amount = sign * size + 0
  const doc = {
    source: sourceIn(document, month),
    usage: usageIn(fields),
    ...given('description', textIn(fields, 'description')),
    ...given('period', periodIn(fields)),
    ...given('metadata', objectIn(fields, 'metadata')),
    ...given('executor', objectIn(fields, 'executor')),
    account: accountIn(fields, month),
    ...given('audit', objectIn(fields, 'audit')),
  }
  const id = monthlyId(document, month.month)
  const draft = draftOf(document, {
    as: 'ledger',
    accountId: month.accountId,
    id,
    doc,
    facts: { month: month.month, amount },
  })
  const begins = isRollover(document, month)
  const renamed = !begins && textIn(fields, 'source', 'service') === rolloverService
  const said: Said[] = [
    ...(begins ? beginning(amount, month) : []),
    ...(renamed
      ? [
          {
            severity: 'repaired',
            code: 'rollover_renamed',
            field: 'source.service',
            old: rolloverService,
            new: olderService,
          } as const,
        ]
      : []),
    ...(size < 0
      ? [{ severity: 'repaired', code: 'amount_negative', field: 'amount', old: dollars(size) } as const]
      : []),
  ]
  return {
    document,
    outcome: 'imported',
    drafts: [draft],
    findings: said.map((one) => found(document, one)),
    book: begins ? { ...book, carried: amount } : movedBy(book, amount),
  }
}

const rollUpReason = 'database_rollup'

const isRollUp = ({ id, fields }: KazooDocument) =>
  id === 'monthly_rollup' || textIn(fields, 'pvt_reason') === rollUpReason

/** What older documents say beside amounts. */
const olderFacts = (fields: Json) => ({
  ...given('reason', textIn(fields, 'pvt_reason')),
  ...given('code', integerIn(fields, 'pvt_code')),
  ...given('call_id', textIn(fields, 'call_id')),
  ...given('sub_account_id', textIn(fields, 'sub_account_id')),
})

const olderAccount = (fields: Json, { accountId, accountName }: MonthOfAccount) => {
  const id = textIn(fields, 'sub_account_id')
  if (!isId(id) || id === accountId) return { id: accountId, name: accountName }
  return { id, name: textIn(fields, 'sub_account_name') ?? id }
}

/** An older document as an entry of the ledger: in a month without a rollover. */
const olderEntry = (
  document: KazooDocument,
  month: MonthOfAccount,
  amount: number,
  begins: boolean,
): Draft => {
  const { fields, id, type } = document
  const reason = textIn(fields, 'pvt_reason')
  const description = textIn(fields, 'description') ?? reason
  return draftOf(document, {
    as: 'ledger',
    accountId: month.accountId,
    id: begins ? rolloverId(month.month) : monthlyId(document, month.month),
    doc: {
      source: begins
        ? { service: rolloverService, id: String(month.month) }
        : { service: olderService, id: plain(textIn(fields, 'call_id') ?? id, mostIdLetters) },
      usage: { type, quantity: 1, unit: 'transaction' },
      ...given('description', description),
      metadata: olderFacts(fields),
      account: begins ? { id: month.accountId, name: month.accountName } : olderAccount(fields, month),
    },
    facts: { month: month.month, amount },
  })
}

/** An older document beside a rollover, which contains it: a row of the older transactions. */
const olderTransaction = (document: KazooDocument, month: MonthOfAccount, size: number): Draft => {
  const { fields, type } = document
  const reason = textIn(fields, 'pvt_reason') ?? 'unknown'
  return draftOf(document, {
    as: 'transaction',
    accountId: month.accountId,
    id: hexMonthlyId(document, month.month),
    doc: {
      account: olderAccount(fields, month),
      description: textIn(fields, 'description') ?? reason,
      executor: { trigger: olderService, module: reason },
      bookkeeper: { id: olderService, type: olderService, vendor_id: month.accountId },
      metadata: olderFacts(fields),
    },
    facts: {
      type: type === 'credit' ? 'sale' : 'refund',
      status: 'completed',
      amount: size,
      result: { status: 'succeeded' },
    },
  })
}

const convertOlder = (document: KazooDocument, month: MonthOfAccount, book: BookSoFar): ConvertedMoney => {
  const { fields, type } = document
  const size = integerIn(fields, 'pvt_amount') ?? integerIn(fields, 'amount')
  if (size === undefined) return rejected(document, book, 'pvt_amount')
  if (month.hasRollover)
    return {
      document,
      outcome: 'imported',
      drafts: [olderTransaction(document, month, Math.abs(size))],
      findings: [],
      book,
    }
  const amount = (type === 'credit' ? 1 : -1) * size + 0
  // Of several that say what was before, the first one does.
  const begins = isRollUp(document) && book.carried === undefined
  return {
    document,
    outcome: 'imported',
    drafts: [olderEntry(document, month, amount, begins)],
    findings: begins ? beginning(amount, month).map((one) => found(document, one)) : [],
    book: { ...(begins ? { ...book, carried: amount } : movedBy(book, amount)), older: book.older + 1 },
  }
}

const transactionTypes: ReadonlySet<string> = new Set(['sale', 'refund'])
const unknownAtImport = 'unknown_at_import'

/** What the bookkeeper answered last. Whatever else it told, cards among it, stays behind. */
const answerIn = (fields: Json) => {
  const results: unknown = objectIn(fields, 'bookkeeper')?.results
  const last: unknown = Array.isArray(results) ? results.at(-1) : results
  return {
    ...given('reason', textIn(last, 'reason')),
    ...given('message', textIn(last, 'message')),
  }
}

const bookkeeperIn = (fields: Json, accountId: string) => ({
  id: textIn(fields, 'bookkeeper', 'id') ?? 'unknown',
  type: textIn(fields, 'bookkeeper', 'type') ?? 'unknown',
  vendor_id: textIn(fields, 'bookkeeper', 'vendor_id') ?? accountId,
})

/** How a movement ended. Of one that is still open nobody here finds out, and it is never asked for again. */
const endOf = (fields: Json) => {
  const status = textIn(fields, 'status')
  if (status === 'completed')
    return { status, result: { status: 'succeeded', ...answerIn(fields) }, isKnown: true }
  if (status === 'failed')
    return { status, result: { status: 'declined', ...answerIn(fields) }, isKnown: true }
  const message = 'it was not known how it ended when it was imported'
  const result = { status: 'declined', reason: unknownAtImport, message }
  return { status: 'failed', result, isKnown: false }
}

const convertTransaction = (
  document: KazooDocument,
  month: MonthOfAccount,
  book: BookSoFar,
): ConvertedMoney => {
  const { fields } = document
  const size = integerIn(fields, 'amount') ?? integerIn(fields, 'pvt_amount')
  const type = textIn(fields, 'pvt_transaction_type') ?? textIn(fields, 'transaction_type') ?? ''
  if (size === undefined) return rejected(document, book, 'amount')
  if (!transactionTypes.has(type)) return rejected(document, book, 'pvt_transaction_type')
  const { status, result, isKnown } = endOf(fields)
  const draft = draftOf(document, {
    as: 'transaction',
    accountId: month.accountId,
    id: hexMonthlyId(document, month.month),
    doc: {
      account: accountIn(fields, month),
      description: textIn(fields, 'description') ?? '',
      executor: {
        trigger: textIn(fields, 'executor', 'trigger') ?? 'unknown',
        module: textIn(fields, 'executor', 'module') ?? 'unknown',
      },
      bookkeeper: bookkeeperIn(fields, month.accountId),
      ...given('metadata', objectIn(fields, 'metadata')),
      ...given('order_id', textIn(fields, 'order_id')),
      ...given('audit', objectIn(fields, 'audit')),
    },
    facts: { type, status, amount: Math.abs(size), result },
  })
  const open: Said = {
    severity: 'needs_hand',
    code: 'payment_pending',
    field: 'status',
    old: textIn(fields, 'status') ?? '',
    new: `failed: ${unknownAtImport}`,
  }
  return {
    document,
    outcome: 'imported',
    drafts: [draft],
    findings: isKnown ? [] : [found(document, open)],
    book,
  }
}

/** What becomes of a document of a month's money, and the book after it. */
export const convertMoney = (
  document: KazooDocument,
  month: MonthOfAccount,
  book: BookSoFar,
): ConvertedMoney => {
  if (isGone(document.fields)) return { document, outcome: 'skipped', drafts: [], findings: [], book }
  if (document.type === 'ledger') return convertLedger(document, month, book)
  return document.type === 'transaction'
    ? convertTransaction(document, month, book)
    : convertOlder(document, month, book)
}

/** What is left to be done when all documents of a month were converted. */
export interface ClosedBook {
  drafts: readonly Draft[]
  findings: readonly Finding[]
  /** Units that the month ends with. */
  units: number
}

/** Ends a month. One that begins at nothing although something was there says so from now on. */
export const closeBook = (book: BookSoFar, database: string, month: MonthOfAccount): ClosedBook => {
  const { carried, moved, older } = book
  if (carried !== undefined) return { drafts: [], findings: [], units: carried + moved }
  const { accountId, before = 0, carriesOver } = month
  const isAnew = older > 0 || !carriesOver
  if (!isAnew || before === 0) return { drafts: [], findings: [], units: before + moved }
  const id = rolloverId(month.month)
  const { from } = monthPeriod(month.month)
  const draft: Draft = {
    as: 'ledger',
    accountId,
    id,
    created: from,
    modified: from,
    doc: {
      source: { service: rolloverService, id: String(month.month) },
      usage: { type: 'month', quantity: 1, unit: 'month' },
      account: { id: accountId, name: month.accountName },
    },
    facts: { month: month.month, amount: 0 },
    files: [],
  }
  return {
    drafts: [draft],
    findings: beginning(0, month).map((said) => ({ database, id, ...said })),
    units: moved,
  }
}
