import type { Static } from 'typebox'
import { accountAdmin, accountMember, ownReseller } from '../../../../auth/policies.ts'
import { csvFile } from '../../../../http/response/csv-lists.ts'
import { type Listing, shortListing } from '../../../../http/response/listing.ts'
import { answer, FileResponse, ListResponse } from '../../../../http/response/responses.ts'
import { type Call, get, post, put, type Route } from '../../../../http/route.ts'
import { attachment } from '../../../../http/transport/media.ts'
import { notEnoughCredit } from '../../../../lib/failure.ts'
import { decimalProblems, maxDollars, unitsOfDollars } from '../../../../lib/money.ts'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
} from '../../../../lib/schema.ts'
import { timeKey } from '../../../../lib/time-key.ts'
import type { CommittedChange } from '../../../../storage/idempotency.ts'
import { moneyAnswer, moneyFailures } from '../transactions/routes.ts'
import type { InvoicePrinting, Invoices, Paying } from './operations.ts'
import {
  creditNoteJson,
  csvRows,
  type InvoiceDocument,
  invoiceJson,
  invoiceRow,
  invoiceStatuses,
  numberText,
} from './rules.ts'

const dollarsField = (description: string) => number({ description: `Dollars: ${description}` })

const period = open({ from: must(gregorian('First second')), to: must(gregorian('Last second')) })

const InvoiceLineAnswer = open({
  source: must(choice(['services', 'prorations', 'usage'])),
  description: must(anyText()),
  category: anyText(),
  item: anyText(),
  quantity: number(),
  unit: anyText(),
  rate: dollarsField('of one'),
  discount: dollarsField('taken off'),
  amount: must(dollarsField('without the taxes that are added')),
  period,
  ledger_id: anyText(),
})

const InvoiceTaxAnswer = open({
  name: must(anyText()),
  tax_id: anyText(),
  jurisdiction: anyText(),
  rate: number({ description: 'Percent' }),
  inclusive: must(flag()),
  base: dollarsField('amount to which the tax applies'),
  amount: must(dollarsField('amount')),
})

const rowFields = {
  id: must(anyText()),
  number: anyText({ description: 'Absent for a draft' }),
  status: must(choice(invoiceStatuses)),
  period: must(period),
  total: must(dollarsField('taxes included')),
  currency: must(anyText()),
  issued: gregorian('absent for a draft'),
  due: must(gregorian('Due date')),
  credited: dollarsField('refunded by credit notes'),
}

const InvoiceRow = open(rowFields, { title: 'Invoice' })

const CreditNoteAnswer = open({
  id: must(anyText()),
  number: must(anyText()),
  invoice_id: must(anyText()),
  issued: must(gregorian('Issued')),
  account: must(anyObject()),
  issuer: must(anyObject()),
  reason: anyText(),
  total: must(dollarsField('taxes included')),
  taxes: must(dollarsField('of the total')),
  currency: must(anyText()),
  ledger_ids: must(list(anyText())),
})

const InvoiceAnswer = open({
  ...rowFields,
  account: must(anyObject()),
  issuer: must(anyObject()),
  bookkeeper: must(anyObject()),
  items: must(list(InvoiceLineAnswer)),
  taxes: must(list(InvoiceTaxAnswer)),
  amount_due: must(dollarsField('still to be paid')),
  transaction_id: anyText({ description: 'Transaction that pays it' }),
  credit_notes: list(CreditNoteAnswer),
  events: list(open({ at: must(integer()), event: must(anyText()) })),
})

/** The maximum of `amount` is what is left of the invoice. */
const CreditRequest = open({
  amount: number({
    exclusiveMinimum: 0,
    maximum: maxDollars,
    description: 'Dollars; all that is left unless given',
  }),
  reason: text(1, 1024, multiline),
})
type CreditRequest = Static<typeof CreditRequest>

const invoicesPath = '/v2/accounts/{account_id}/invoices'
const invoicePath = `${invoicesPath}/{invoice_id}` as const
const notes = `${invoicePath}/credit_notes` as const

const invoiceFileName = ({ number, id }: InvoiceDocument) =>
  `invoice-${number ? numberText(number).replaceAll('/', '-') : id}`

export const invoiceRoutes = (invoices: Invoices, printing: InvoicePrinting): Route[] => {
  const listing = (accountId: string, status: string | undefined): Listing<InvoiceDocument> => ({
    page: (request) => invoices.page({ accountId, status, ...request }),
    cursor: ({ issued, id }) => [timeKey(issued), id],
    row: (invoice) => JSON.stringify(invoiceRow(invoice)),
    record: (invoice) => invoiceRow(invoice),
  })

  const whole = async (invoice: InvoiceDocument) => {
    const { accountId, id } = invoice
    return invoiceJson(invoice, await invoices.notesOf(accountId, id), await invoices.eventsOf(accountId, id))
  }

  const paid = async ({ invoice, transaction }: Paying) => moneyAnswer(transaction, await whole(invoice))

  return [
    get(invoicesPath, {
      summary: 'List the invoices of an account, the newest first',
      allow: accountMember,
      query: { status: 'open, paid, void or uncollectible; draft: the invoice of the current month so far' },
      answers: InvoiceRow,
      list: true,
      run: async ({ account, query }) => {
        const status = query.get('status') ?? undefined
        if (status === 'draft')
          return new ListResponse(shortListing((await invoices.drafts(account)).map(invoiceRow)))
        return new ListResponse(listing(account.id, status))
      },
    }),
    get(invoicePath, {
      summary: 'Read an invoice, or print it',
      record: { kind: 'invoice' },
      isLong: true,
      allow: accountMember,
      produces: ['application/pdf', 'text/csv'],
      answers: InvoiceAnswer,
      run: async ({ account, path, request }) => {
        const invoice = await invoices.find(account, path.invoice_id)
        if (request.accepts === 'text/csv')
          return csvFile(csvRows(invoice), `${invoiceFileName(invoice)}.csv`)
        if (request.accepts !== 'application/pdf') return whole(invoice)
        const bytes = await printing.invoice(invoice)
        return new FileResponse(bytes, 'application/pdf', attachment(`${invoiceFileName(invoice)}.pdf`))
      },
    }),
    post(`${invoicePath}/void`, {
      summary: 'Void an unpaid invoice',
      allow: ownReseller,
      answers: InvoiceAnswer,
      run: async ({ author, account, path }) =>
        whole(await invoices.cancel(author, account, path.invoice_id)),
    }),
    post(`${invoicePath}/pay`, {
      summary: 'Pay an invoice now: by its billing provider if that charges, else from the balance',
      allow: accountAdmin,
      answers: InvoiceAnswer,
      fails: [...moneyFailures, notEnoughCredit],
      run: async ({ author, account, path }) => paid(await invoices.pay(author, account, path.invoice_id)),
      again: async ({ path }, changes: readonly CommittedChange[]) => {
        const made = changes.find(({ kind }) => kind === 'transaction')
        return paid(await invoices.paidAgain(path.account_id, path.invoice_id, made?.id))
      },
    }),
    get(notes, {
      summary: 'List the credit notes of an invoice',
      allow: accountMember,
      answers: list(CreditNoteAnswer),
      run: async ({ account, path }) => {
        const { id } = await invoices.find(account, path.invoice_id)
        return (await invoices.notesOf(account.id, id)).map(creditNoteJson)
      },
    }),
    put(notes, {
      summary: 'Create a credit note for an invoice or a part of it',
      allow: ownReseller,
      body: CreditRequest,
      judge: async ({ data }) => decimalProblems('amount', data.amount),
      answers: CreditNoteAnswer,
      run: async ({ author, account, path, data }: Call<typeof notes, CreditRequest>) => {
        const { amount, reason } = data
        const note = await invoices.credit(author, account, path.invoice_id, {
          amount: amount === undefined ? undefined : unitsOfDollars(amount),
          reason,
        })
        return answer({ data: creditNoteJson(note), created: note.id })
      },
    }),
    get(`${notes}/{credit_note_id}`, {
      summary: 'Read a credit note, or print it',
      record: { kind: 'credit_note' },
      allow: accountMember,
      produces: ['application/pdf'],
      answers: CreditNoteAnswer,
      run: async ({ account, path, request }) => {
        const note = await invoices.note(account.id, path.invoice_id, path.credit_note_id)
        if (request.accepts !== 'application/pdf') return creditNoteJson(note)
        const name = `credit-note-${numberText(note.number).replaceAll('/', '-')}.pdf`
        return new FileResponse(await printing.note(note), 'application/pdf', attachment(name))
      },
    }),
  ]
}
