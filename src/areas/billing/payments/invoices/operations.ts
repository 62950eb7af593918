import { createRequire } from 'node:module'
import type { AccountRecord } from '../../../../auth/identity.ts'
import {
  badIdentifier,
  datastoreConflict,
  failure,
  invalid,
  notEnoughCredit,
} from '../../../../lib/failure.ts'
import { gregorianNow, monthAfter } from '../../../../lib/gregorian.ts'
import { newId } from '../../../../lib/ids.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import { monthNumber } from '../../../../lib/time-key.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { invoiceSettings } from '../settings.ts'
import { isOpen, type Transaction } from '../transactions/rules.ts'
import type { InvoiceDeps } from './dunning.ts'
import type { CreditNoteSheet, InvoiceSheet } from './pdf.ts'
import {
  bySource,
  type CreditNote,
  creditedItems,
  type InvoiceDocument,
  type InvoiceStep,
  type IssuedStatus,
  invoiceNumber,
  leftOf,
  mayBecome,
  partyOf,
  taxOn,
  taxShare,
  toPay,
  usageSource,
} from './rules.ts'

interface CreditOrder {
  /** Units; without it, all that is left. */
  amount?: number | undefined
  reason?: string | undefined
}

/** An invoice after an attempt to pay it, and the transaction of that. */
export interface Paying {
  invoice: InvoiceDocument
  transaction?: Transaction
}

/** Units of a ledger. */
type Part = readonly [service: string, amount: number]

/** What an invoice returns, or takes back. */
interface Refund {
  identity: readonly [kind: string, id: string]
  sourceId: string
  type: string
  description: string
  parts: readonly Part[]
}

type Issued = InvoiceDocument & { status: IssuedStatus }

const partsOf = (services: number, taxes: number): Part[] =>
  [['services', services] as const, ['taxes', taxes] as const].filter(([, amount]) => amount !== 0)

const assertLeft = (invoice: InvoiceDocument, amount: number) => {
  const left = leftOf(invoice)
  if (amount > 0 && amount <= left) return
  const message = 'The amount is larger than the rest of the invoice'
  throw invalid({
    amount: { maximum: { message, target: dollarsOfUnits(left), value: dollarsOfUnits(amount) } },
  })
}

const finding = ({ store, rows, issuing, transactions }: InvoiceDeps) => {
  /** What would be issued on the first of the next month. */
  const drafts = async (account: AccountRecord): Promise<InvoiceDocument[]> => {
    const month = monthAfter(monthNumber(store.clock.now()))
    const sheets = await issuing.sheets(account, month)
    return Promise.all(
      sheets.map(async (sheet) => {
        const { id, issuerId, doc } = await issuing.compose(account, sheet, month)
        const base = { accountId: account.id, id, month, issuerId, issued: gregorianNow(store.clock), doc }
        return { ...base, status: 'draft', credited: 0, attempt: '' } as const
      }),
    )
  }

  const find = async (account: AccountRecord, id: string): Promise<InvoiceDocument> => {
    const issued = await rows.find(account.id, id)
    const found = issued ?? (await drafts(account)).find((draft) => draft.id === id)
    if (!found) throw failure(badIdentifier, { cause: id })
    return found
  }

  const attemptOf = async ({ accountId, attempt }: InvoiceDocument) =>
    attempt === '' ? undefined : transactions.get(accountId, attempt)

  return {
    drafts,
    find,
    attemptOf,

    /** The invoice, if this step is allowed in its status. */
    async forStep(account: AccountRecord, id: string, step: InvoiceStep): Promise<Issued> {
      const { status, ...invoice } = await find(account, id)
      if (status !== 'draft' && mayBecome(status, step)) return { ...invoice, status }
      const message = `This is not possible for an invoice with the status ${status}`
      throw invalid({ status: { state: { message, value: status } } })
    },

    async assertNobodyPays(invoice: InvoiceDocument) {
      const attempt = await attemptOf(invoice)
      if (attempt && isOpen(attempt))
        throw failure(datastoreConflict, { message: 'a payment of this invoice is in progress' })
    },
  }
}

const refunding = ({ store, rows, ledgers }: InvoiceDeps) => {
  const { clock } = store

  const book = (set: ChangeSet, account: AccountRecord, invoice: InvoiceDocument, refund: Refund) => {
    const { identity, sourceId, type, description, parts } = refund
    return parts.map(([service, amount]) => {
      const id = ledgers.post(set, account, {
        source: { service, id: sourceId },
        usage: { type, quantity: 0, unit: service },
        amount,
        identity: [...identity, service],
        details: {
          description,
          period: { start: gregorianNow(clock) },
          executor: { trigger: 'manual', module: 'invoices' },
          metadata: { invoice_id: invoice.id },
        },
      })
      return { id, service, amount }
    })
  }

  return {
    /** Books a refund. The document covers its own entries. Returns their ids. */
    giveBack(
      set: ChangeSet,
      account: AccountRecord,
      invoice: InvoiceDocument,
      { documentId, parts }: { documentId: string; parts: readonly Part[] },
    ): string[] {
      const booked = book(set, account, invoice, {
        identity: ['credit', documentId],
        sourceId: documentId,
        type: 'credit_note',
        description: `Credit for invoice ${invoiceNumber(invoice)}`,
        parts,
      })
      const entryIds = booked.filter(({ service }) => service !== usageSource).map(({ id }) => id)
      const common = { month: monthNumber(clock.now()), forAccountId: account.id, quantity: 0 }
      const usage = booked
        .filter(({ service }) => service === usageSource)
        .map(({ amount }) => ({ ...common, amount, unit: usageSource }))
      rows.cover(set, { accountId: account.id, documentId, entryIds, usage })
      return entryIds
    },

    /** Takes back what was refunded before the whole invoice is, with its taxes (units): the next document has it. */
    takeReturned(set: ChangeSet, account: AccountRecord, invoice: InvoiceDocument, returned: number) {
      book(set, account, invoice, {
        identity: ['void', invoice.id],
        sourceId: `${invoice.id}/void`,
        type: 'void',
        description: `Given back before invoice ${invoiceNumber(invoice)} was taken back`,
        parts: partsOf(-returned, -taxOn(returned, invoice.doc)),
      })
    },
  }
}

type Finding = ReturnType<typeof finding>

/** Cancels invoices and issues credit notes. */
const crediting = (deps: InvoiceDeps, { forStep, assertNobodyPays }: Finding) => {
  const { store, rows, issuing, progress, charged } = deps
  const { giveBack, takeReturned } = refunding(deps)

  const note = async (accountId: string, invoiceId: string, id: string): Promise<CreditNote> => {
    const found = (await rows.notesOf(accountId, invoiceId)).find((one) => one.id === id)
    if (!found) throw failure(badIdentifier, { cause: id })
    return found
  }

  const shares = (amount: number, invoice: InvoiceDocument) => {
    const taxes = taxShare(amount, invoice.doc)
    return { taxes, parts: partsOf(amount - taxes, taxes) }
  }

  return {
    note,

    /** Cancels an unpaid invoice. */
    async cancel(author: Author, account: AccountRecord, id: string): Promise<InvoiceDocument> {
      const invoice = await forStep(account, id, 'void')
      await assertNobodyPays(invoice)
      const set = new ChangeSet(author)
      const left = leftOf(invoice)
      const parts = invoice.credited === 0 ? bySource(invoice.doc) : shares(left, invoice).parts
      giveBack(set, account, invoice, { documentId: `${id}/void`, parts })
      const items = creditedItems(left, invoice.doc)
      const returned = await charged.cancelled(set, account.id, { month: invoice.month, items })
      takeReturned(set, account, invoice, returned)
      rows.move(set, invoice, { status: 'void' })
      rows.tell(set, invoice, 'void', { amount: dollarsOfUnits(left) })
      await progress.restore(set, account.id, id)
      await store.commit(set)
      return rows.get(account.id, id)
    },

    /** Refunds part of an invoice, or all that is left, by a credit note. */
    async credit(author: Author, account: AccountRecord, id: string, order: CreditOrder) {
      const invoice = await forStep(account, id, 'credit')
      await assertNobodyPays(invoice)
      const { amount = leftOf(invoice), reason } = order
      assertLeft(invoice, amount)
      const set = new ChangeSet(author)
      const noteId = newId(store.clock.now())
      const { taxes, parts } = shares(amount, invoice)
      const ledger_ids = giveBack(set, account, invoice, { documentId: noteId, parts })
      charged.credited(set, account.id, { month: invoice.month, items: creditedItems(amount, invoice.doc) })
      const { issuer, currency } = invoice.doc
      const noted = reason === undefined ? {} : { reason }
      const doc = { account: partyOf(account), issuer, currency, ...noted, total: amount, taxes, ledger_ids }
      const document = { accountId: account.id, id: noteId, issuerId: invoice.issuerId, doc }
      rows.issueNote(set, id, await issuing.frame('credit_note', document))
      const credited = invoice.credited + amount
      const isPaid = invoice.status !== 'paid' && toPay({ ...invoice, credited }) === 0
      rows.move(set, invoice, { status: isPaid ? 'paid' : invoice.status, credited })
      rows.tell(set, invoice, 'credited', { credit_note_id: noteId, amount: dollarsOfUnits(amount) })
      if (isPaid) {
        rows.tell(set, invoice, 'paid', { by: 'credit_note' })
        await progress.restore(set, account.id, id)
      }
      await store.commit(set)
      return note(account.id, id, noteId)
    },
  }
}

const paying = (deps: InvoiceDeps, { forStep, attemptOf }: Finding) => {
  const { store, rows, progress, bookkeepers, transactions } = deps

  const canCharge = async (account: AccountRecord, { doc: { bookkeeper } }: InvoiceDocument) => {
    const gateway = bookkeepers.gateway(bookkeeper)
    return gateway?.capabilities.charges === true && bookkeepers.isReady(account, gateway, bookkeeper)
  }

  const payFromBalance = async (author: Author, account: AccountRecord, invoice: Issued): Promise<Paying> => {
    const missing = await progress.missingFor(invoice)
    if (missing > 0)
      throw failure(notEnoughCredit, { accountId: account.id, missing: dollarsOfUnits(missing) })
    const set = new ChangeSet(author)
    await progress.payByBalance(set, invoice)
    await store.commit(set)
    return { invoice: await rows.get(account.id, invoice.id) }
  }

  /** Pays the open amount: by the gateway of its bookkeeper, else from the balance. */
  const pay = async (author: Author, account: AccountRecord, id: string): Promise<Paying> => {
    const invoice = await forStep(account, id, 'pay')
    const attempt = await attemptOf(invoice)
    if (attempt && isOpen(attempt)) {
      const transaction = await transactions.cleared(account.id, attempt.id)
      if (transaction.status !== 'failed') return { invoice: await rows.get(account.id, id), transaction }
      return pay(author, account, id)
    }
    if (!(await canCharge(account, invoice))) return payFromBalance(author, account, invoice)
    const transaction = await transactions.carryOut(
      author,
      account,
      progress.paymentOf(invoice, 'manual', 'invoices'),
      (set, { id: made }) => rows.move(set, invoice, { status: invoice.status, attempt: made }),
    )
    return { invoice: await rows.get(account.id, id), transaction }
  }

  return {
    pay,

    /** The result of a payment whose response was lost. */
    async paidAgain(accountId: string, id: string, transactionId: string | undefined): Promise<Paying> {
      if (transactionId === undefined) return { invoice: await rows.get(accountId, id) }
      const transaction = await transactions.cleared(accountId, transactionId)
      return { invoice: await rows.get(accountId, id), transaction }
    },
  }
}

export type Invoices = ReturnType<typeof createInvoices>

export const createInvoices = (deps: InvoiceDeps) => {
  const { page, eventsOf, notesOf } = deps.rows
  const found = finding(deps)
  const { drafts, find } = found
  return { drafts, find, page, eventsOf, notesOf, ...crediting(deps, found), ...paying(deps, found) }
}

const fontFolder = () => {
  const { resolve } = createRequire(import.meta.url)
  return resolve('dejavu-fonts-ttf/package.json').replace(/package\.json$/, 'ttf/')
}

export type InvoicePrinting = ReturnType<typeof createInvoicePrinting>

/** Documents as PDF. The library is loaded with the first document. */
export const createInvoicePrinting = ({ settings, rows, whitelabel }: InvoiceDeps) => {
  const paper = async (issuerId: string) => {
    const { font } = await settings.of(invoiceSettings)
    const folder = fontFolder()
    const fonts = font
      ? { plain: font, bold: font }
      : { plain: `${folder}DejaVuSans.ttf`, bold: `${folder}DejaVuSans-Bold.ttf` }
    return { brand: await whitelabel.brandOf(issuerId), fonts }
  }

  const print = async (issuerId: string, sheet: InvoiceSheet | CreditNoteSheet) => {
    const { printSheet } = await import('./pdf.ts')
    return printSheet(sheet, await paper(issuerId))
  }

  const invoice = async (one: InvoiceDocument) => {
    const notes = one.number ? await rows.notesOf(one.accountId, one.id) : []
    return print(one.issuerId, { kind: 'invoice', invoice: one, notes })
  }

  return {
    invoice,

    async note(note: CreditNote) {
      const about = await rows.get(note.accountId, note.invoiceId)
      return print(about.issuerId, { kind: 'credit_note', note, invoiceNumber: invoiceNumber(about) })
    },

    /** The attachment of a mail. */
    documentOf: async ({ accountId, id }: { accountId: string; id: string }) =>
      invoice(await rows.get(accountId, id)),
  }
}
