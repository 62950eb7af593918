import type { Static } from 'typebox'
import { maxDollars } from '../../../../lib/money.ts'
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
import { invoiceStatuses } from './rules.ts'

const dollars = (description: string) => number({ description: `Dollars: ${description}` })

const period = open({ from: must(gregorian('First second')), to: must(gregorian('Last second')) })

const Line = open({
  source: must(choice(['services', 'prorations', 'usage'])),
  description: must(anyText()),
  category: anyText(),
  item: anyText(),
  quantity: number(),
  unit: anyText(),
  rate: dollars('of one'),
  discount: dollars('taken off'),
  amount: must(dollars('without the taxes that are added')),
  period,
  ledger_id: anyText(),
})

const Tax = open({
  name: must(anyText()),
  tax_id: anyText(),
  jurisdiction: anyText(),
  rate: number({ description: 'Percent' }),
  inclusive: must(flag()),
  base: dollars('that it is on'),
  amount: must(dollars('what it comes to')),
})

const rowFields = {
  id: must(anyText()),
  number: anyText({ description: 'A draft has none' }),
  status: must(choice(invoiceStatuses)),
  period: must(period),
  total: must(dollars('taxes included')),
  currency: must(anyText()),
  issued: gregorian('A draft is not'),
  due: must(gregorian('When it has to be paid')),
  credited: dollars('given back by credit notes'),
}

export const InvoiceRow = open(rowFields, { title: 'Invoice' })

export const CreditNoteAnswer = open({
  id: must(anyText()),
  number: must(anyText()),
  invoice_id: must(anyText()),
  issued: must(gregorian('Issued')),
  account: must(anyObject()),
  issuer: must(anyObject()),
  reason: anyText(),
  total: must(dollars('taxes included')),
  taxes: must(dollars('of the total')),
  currency: must(anyText()),
  ledger_ids: must(list(anyText())),
})

export const InvoiceAnswer = open({
  ...rowFields,
  account: must(anyObject()),
  issuer: must(anyObject()),
  bookkeeper: must(anyObject()),
  items: must(list(Line)),
  taxes: must(list(Tax)),
  amount_due: must(dollars('still to be paid')),
  transaction_id: anyText({ description: 'What is to pay it, or did' }),
  credit_notes: list(CreditNoteAnswer),
  events: list(open({ at: must(integer()), event: must(anyText()) })),
})

/** The amount is judged by itself: it is at most what is left of the invoice. */
export const CreditRequest = open({
  amount: number({
    exclusiveMinimum: 0,
    maximum: maxDollars,
    description: 'Dollars; all that is left unless given',
  }),
  reason: text(1, 1024, multiline),
})
export type CreditRequest = Static<typeof CreditRequest>
