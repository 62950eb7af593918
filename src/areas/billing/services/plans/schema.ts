import type { Static } from 'typebox'
import { OperatorLimits } from '../../../../lib/limit-shapes.ts'
import { maxDollars } from '../../../../lib/money.ts'
import {
  anyObject,
  anyText,
  choice,
  closed,
  flag,
  integer,
  keyed,
  keyedBy,
  list,
  multiline,
  must,
  number,
  open,
  text,
} from '../../../../lib/schema.ts'

// Other keys of a plan are kept.

const planDollars = (description: string) => number({ minimum: 0, maximum: maxDollars, description })
const itemCount = (description: string, minimum = 0) =>
  integer({ minimum, maximum: 1_000_000_000, description })
const tiers = (description: string) =>
  keyedBy('^\\d{1,9}$', planDollars('Dollars'), { description: `${description}; keys are quantities` })

const Discounts = open({
  single: open({
    rate: planDollars('Discount, once'),
    minimum: itemCount('Billable units from which the discount applies', 1),
  }),
  cumulative: open({
    rate: planDollars('Discount for each discounted unit'),
    rates: tiers('Discount by number of discounted units'),
    minimum: itemCount('Billable units from which the discount applies', 1),
    maximum: itemCount('Maximum discounted units'),
  }),
})

/** ISO 3166-1 or 3166-2. */
export const jurisdiction = (description: string) =>
  text(2, 6, { pattern: '^[A-Z]{2}(-[A-Z0-9]{1,3})?$', description })

const Tax = closed(
  {
    name: must(text(1, 128)),
    rate: must(number({ minimum: 0, maximum: 100, description: 'Percent, at most four decimals' })),
    tax_id: text(1, 128, { description: 'ID of the tax; its name if absent' }),
    jurisdiction: jurisdiction('Jurisdiction such as US or US-CA, including its parts; everywhere if absent'),
    inclusive: flag({ description: 'The price contains it; others are added to the price' }),
  },
  { title: 'Tax' },
)
export type Tax = Static<typeof Tax>

const ItemPlan = open({
  name: text(1, 128),
  as: text(1, 128, { description: 'Name of the item at the billing provider' }),
  rate: planDollars('Price of each billable unit if no tier matches'),
  rates: tiers('Price per unit: the smallest tier that is not exceeded applies to all units'),
  flat_rate: planDollars('Price of all units together'),
  flat_rates: tiers('Price of all units together'),
  minimum: itemCount('Minimum billed units'),
  maximum: itemCount('Maximum billed units'),
  step: itemCount('Units are billed in whole steps', 1),
  activation_charge: planDollars('One-time price of each added billable unit'),
  cascade: flag({ description: 'Also count the items of all sub-accounts' }),
  exceptions: list(text(1, 128), { maxItems: 1000, description: 'Items that _all excludes' }),
  discounts: Discounts,
  prorate: open({
    additions: flag({ description: 'Additions are charged immediately for the remaining days of the month' }),
    removals: flag({ description: 'Removals are refunded in the same way; requires additions' }),
  }),
  taxes: list(Tax, { maxItems: 20 }),
  quantity: open({ category: text(1, 128), name: text(1, 128) }, { description: 'Counts this item instead' }),
})
export type ItemPlan = Static<typeof ItemPlan>

export const Application = open({
  name: anyText(),
  vendor_id: anyText({ description: 'Account of the application; default: the master account' }),
  enabled: flag({ description: 'true without it' }),
})
export type Application = Static<typeof Application>

/** The default price in dollars of one message. */
export const messagePrices = { sms: 0.007, mms: 0.015 } as const

const messages = (kind: string, fallback: number) =>
  open(
    {
      enabled: flag({ description: `Whether numbers may have the feature ${kind}; true without it` }),
      rate: open({
        inbound: planDollars(`Price of each inbound one; default: ${fallback}`),
        outbound: planDollars(`Price of each outbound one; default: ${fallback}`),
      }),
    },
    { description: 'The summary shows the price of each; this server sends and charges no messages' },
  )

export const MessagePrices = open({
  sms: messages('sms', messagePrices.sms),
  mms: messages('mms', messagePrices.mms),
})
export type MessagePrices = Static<typeof MessagePrices>

const Items = keyed(keyed(ItemPlan), { description: 'Category -> item (or _all) -> how it is priced' })
export type ItemPlans = Static<typeof Items>

const planParts = {
  description: text(0, 1024, multiline),
  category: text(1, 128),
  merge: open({
    strategy: choice(['simple', 'recursive', 'cumulative']),
    priority: integer({ minimum: -1_000_000, maximum: 1_000_000 }),
  }),
  bookkeeper: open({ id: text(1, 128), type: text(1, 64), vendor_id: text(32, 32) }),
  ratedeck: open({ id: text(1, 128), name: text(1, 128) }),
  applications: keyed(Application, { description: 'Apps of accounts with the plan, by ID' }),
  limits: OperatorLimits,
  im: MessagePrices,
  asr: anyObject(),
}

export const ServicePlan = open(
  { name: must(text(1, 128)), plan: must(Items), ...planParts },
  { title: 'Service plan' },
)

/** Replace parts of a plan for one account. */
export const PlanOverrides = open(
  { name: text(1, 128), plan: Items, ...planParts },
  { title: 'Plan overrides' },
)

/** A plan, or what replaces parts of one. */
export type PlanDoc = Static<typeof PlanOverrides>

export const PlanRow = open({
  id: must(text(32, 32)),
  name: anyText(),
  description: anyText(),
  category: anyText(),
})
