import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  closed,
  either,
  flag,
  integer,
  keyed,
  list,
  must,
  number,
  open,
  text,
} from '../../../lib/schema.ts'
import { Application, jurisdiction, MessagePrices, PlanOverrides } from './plans/schema.ts'

// An unknown id of any form is a 404.
const planId = anyText()

const Assignment = open({
  id: must(planId),
  vendor_id: anyText({ description: 'The account that owns the plan: the reseller' }),
  overrides: PlanOverrides,
  contract: anyObject(),
})

const Assignments = list(either([planId, Assignment]), { maxItems: 100 })

const bookkeeper = open({ id: text(1, 128), type: text(1, 64), vendor_id: text(32, 32) })
const ratedeck = open({ id: text(1, 128), name: text(1, 128) })

const TaxStanding = closed(
  {
    jurisdiction: jurisdiction('Location such as US or US-CA: its taxes apply'),
    exempt: either([flag(), list(text(1, 128), { maxItems: 100 })], {
      description: 'From all taxes, or from those with these ids',
    }),
    exemption_number: text(1, 128, { description: 'Certificate of the exemption' }),
  },
  { title: 'Tax standing', description: 'Tax settings of the account' },
)
export type TaxStatus = Static<typeof TaxStanding>

/** `plans` is the same as `add`. */
export const ServicesChange = open({
  add: Assignments,
  plans: Assignments,
  delete: list(planId, { maxItems: 100, description: 'Plans to be taken away' }),
  overrides: PlanOverrides,
  bookkeeper,
  ratedeck,
  tax: TaxStanding,
  billing_id: text(1, 64, { description: 'The account whose standing counts: this one or its parent' }),
})
export type ServicesChange = Static<typeof ServicesChange>

export const PlanAssignment = open({
  vendor_id: anyText(),
  overrides: PlanOverrides,
  contract: anyObject(),
})
export type PlanAssignment = Static<typeof PlanAssignment>

export const Quantities = keyed(keyed(integer({ minimum: 0, maximum: 1_000_000_000 })), {
  description: 'Category -> item -> count',
})

export const ImportedServices = open({
  plans: keyed(open({ vendor_id: must(text(32, 32)), overrides: must(PlanOverrides) })),
  overrides: PlanOverrides,
  manual: Quantities,
  bookkeeper,
  ratedeck,
  billing_id: text(32, 32),
  status: choice(['good_standing', 'delinquent']),
  reason: text(0, 128),
  reason_code: integer(),
})

export const StandingChange = open({
  in_good_standing: must(flag()),
  reason: text(0, 128),
  reason_code: integer(),
})
export type StandingChange = Static<typeof StandingChange>

export const StandingAnswer = open({
  in_good_standing: must(flag()),
  reason: anyText(),
  reason_code: integer(),
})

const countTable = keyed(keyed(integer()))

export const ServicesAnswer = open({
  account_quantities: must(countTable),
  cascade_quantities: must(countTable),
  plans: must(anyObject()),
  overrides: must(anyObject()),
  quantities: must(anyObject()),
  bookkeeper: must(
    open(
      { id: must(anyText()), type: must(anyText()), vendor_id: must(anyText()) },
      { description: 'The billing provider of plans that name none' },
    ),
  ),
  ratedeck,
  tax: TaxStanding,
  billing_id: must(anyText()),
  reseller: must(flag()),
  reseller_id: must(anyText()),
  dirty: must(flag()),
  in_good_standing: must(flag()),
  status: must(anyText()),
  reason: anyText(),
  reason_code: integer(),
  items: must(anyObject()),
})

const summaryDollars = (description: string) => number({ description: `Dollars: ${description}` })

const taxFields = {
  name: must(anyText()),
  tax_id: must(anyText()),
  jurisdiction: anyText(),
  rate: must(number({ description: 'Percent' })),
  inclusive: must(flag({ description: 'Whether prices include it' })),
  base: must(summaryDollars('sum of the items without taxes')),
  amount: must(summaryDollars('the tax, each month')),
}

const InvoiceTaxRow = open(
  {
    ...taxFields,
    today: open(
      {
        base: must(summaryDollars('amount due now, without taxes')),
        amount: must(summaryDollars('tax on the amount due now')),
      },
      { description: 'On activations and prorations' },
    ),
  },
  { title: 'Tax of an invoice' },
)

const ProrationRow = open(
  {
    category: must(anyText()),
    item: must(anyText()),
    name: must(anyText()),
    quantity: must(integer({ description: 'Added quantity; negative: removed' })),
    billable: must(integer()),
    rate: must(summaryDollars('the price of one')),
    recurring: must(summaryDollars('increase of a whole month')),
    days: must(integer({ description: 'Days left of the month, the day itself counted' })),
    days_in_month: must(integer()),
    taxes: list(open(taxFields, { title: 'Tax line' })),
    total: must(summaryDollars('due now; negative: refunded')),
  },
  { title: 'Proration' },
)

const InvoiceSummaryAnswer = open({
  items: must(list(anyObject())),
  activation_charges: must(list(anyObject())),
  prorations: must(list(ProrationRow)),
  taxes: must(list(InvoiceTaxRow)),
  summary: must(
    open(
      {
        today: must(summaryDollars('activations, prorations and the taxes added to them')),
        recurring: must(summaryDollars('each month, without the taxes that are added')),
        taxes: summaryDollars('monthly added taxes, if any'),
        total: summaryDollars('recurring and taxes, if any'),
      },
      { title: 'Invoice summary' },
    ),
  ),
  bookkeeper: must(anyObject()),
})

export const Summary = open(
  {
    plans: must(anyObject()),
    overrides: must(anyObject()),
    invoices: must(list(InvoiceSummaryAnswer)),
    quantities: must(anyObject()),
    reseller: must(anyObject()),
    ratedeck: must(anyObject()),
    applications: must(keyed(Application)),
    limits: must(anyObject()),
    im: must(MessagePrices),
    billing_cycle: must(anyObject()),
    status: must(anyObject()),
  },
  { title: 'Services summary' },
)
