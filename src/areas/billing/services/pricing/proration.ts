import { divideRounded, dollarsOfUnits } from '../../../../lib/money.ts'
import { nameOf, type PricedItem, priceItem, proratesOf, taxesJson } from './items.ts'
import type { ItemPlan } from './plan.ts'
import { type Tax, type TaxLine, taxed, taxTotals } from './taxes.ts'

// What is added or taken away within a month is charged or given back for the days that are left of it.

/** Days of a UTC month that are left, the day itself counted. */
interface DaysLeft {
  days: number
  daysInMonth: number
}

/** `moment` in Unix milliseconds. */
export const daysLeftAt = (moment: number): DaysLeft => {
  const day = new Date(moment)
  const daysInMonth = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate()
  return { days: daysInMonth - day.getUTCDate() + 1, daysInMonth }
}

/** A line of an invoice for the rest of a month. Money is in units, what is given back negative. */
export interface Proration extends DaysLeft {
  category: string
  /** As the plan calls it: with the category it stands once in an invoice. */
  key: string
  /** As the bookkeeper calls it. */
  item: string
  name: string
  /** How many came; negative: how many went. */
  quantity: number
  billable: number
  /** The price of one: as it is now, of what goes as it was charged. */
  rate: number
  /** By how much a whole month rises. */
  recurring: number
  total: number
  taxes: TaxLine[]
  /** At what prices the account is charged for the item afterwards. */
  prices: readonly PriceSpan[]
}

/** What is due of a monthly rise for the days that are left: rounded once, half away from zero. */
export const prorated = (rise: number, { days, daysInMonth }: DaysLeft) =>
  Number(divideRounded(BigInt(rise) * BigInt(days), BigInt(daysInMonth)))

const isSamePlan = ({ plan }: PricedItem, { plan: other }: PricedItem) =>
  plan === other || JSON.stringify(plan) === JSON.stringify(other)

/** The price at which some of an item was charged: what it costs with `to` of it, less what it costs with `from`. */
export interface PriceSpan {
  from: number
  to: number
  /** Absent for what was charged before prices were stored: it is given back at the present price. */
  plan?: ItemPlan
  /** The taxes that were on it. */
  held?: readonly Tax[]
}

/** What an account was charged for an item this month, less what was given back. */
export interface ChargedItem {
  /** Units. */
  amount: number
  /** In ascending order. Absent: nothing is known of the prices. */
  prices?: readonly PriceSpan[]
}

interface Terms {
  /** Unix milliseconds. */
  moment: number
  chargedFor(item: { category: string; key: string }): ChargedItem
}

/** The parts of spans within a range of quantities. */
const within = (spans: readonly PriceSpan[], from: number, to: number): PriceSpan[] =>
  spans
    .map((span) => ({ ...span, from: Math.max(span.from, from), to: Math.min(span.to, to) }))
    .filter((span) => span.from < span.to)

const isSamePrice = (a: PriceSpan, b: PriceSpan) =>
  JSON.stringify([a.plan, a.held]) === JSON.stringify([b.plan, b.held])

/** The price of all there is of an item at once. */
export const spanOf = ({ quantity, plan, held }: PricedItem, from = 0): PriceSpan => ({
  from,
  to: quantity,
  plan,
  ...(held.length === 0 ? {} : { held }),
})

const withAdded = (spans: readonly PriceSpan[], added: PriceSpan): PriceSpan[] => {
  const kept = within(spans, 0, added.from)
  const last = kept.at(-1)
  return last && last.to === added.from && isSamePrice(last, added)
    ? [...kept.slice(0, -1), { ...last, to: added.to }]
    : [...kept, added]
}

const pricedAt = ({ category, item, plan }: PricedItem, { plan: then = plan }: PriceSpan, quantity: number) =>
  priceItem({ category, item, plan: then, quantity })

/** Units of each month that a span was charged with. */
const worthOf = (item: PricedItem, span: PriceSpan) =>
  pricedAt(item, span, span.to).total - pricedAt(item, span, span.from).total

interface Due {
  total: number
  taxes: TaxLine[]
  prices: readonly PriceSpan[]
  /** The price of one. */
  rate: number
}

const charge = (
  before: PricedItem,
  after: PricedItem,
  { amount, prices }: ChargedItem,
  left: DaysLeft,
): Due => {
  const total = Math.max(prorated(after.total - before.total, left), -Math.max(0, amount)) + 0
  return {
    total,
    taxes: taxed(total, after.held).taxes,
    prices: withAdded(prices ?? [{ from: 0, to: before.quantity }], spanOf(after, before.quantity)),
    rate: after.rate,
  }
}

/**
 * What was added last goes first, at the price that it was charged with. Something is given back if the plan of the
 * addition promised it, or if the present one does.
 */
const giveBack = (
  before: PricedItem,
  after: PricedItem,
  { amount, prices = [{ from: 0, to: before.quantity }] }: ChargedItem,
  left: DaysLeft,
): Due => {
  const parts = within(prices, after.quantity, before.quantity).toReversed()
  let most = Math.max(0, amount)
  const backs = parts.map((span) => {
    const isPromised = [span.plan ?? {}, after.plan].some((plan) => proratesOf(plan).removals)
    // With tiers, fewer may cost more: a removal charges nothing then.
    const back = isPromised ? Math.max(0, Math.min(most, prorated(worthOf(after, span), left))) : 0
    most -= back
    return { span, back }
  })
  const [newest] = parts
  return {
    total: backs.reduce((sum, { back }) => sum - back, 0),
    taxes: taxTotals(
      backs.flatMap(({ span, back }) => taxed(-back, span.plan ? (span.held ?? []) : after.held).taxes),
    ),
    prices: within(prices, 0, after.quantity),
    rate: newest ? pricedAt(after, newest, newest.to).rate : after.rate,
  }
}

const dueOf = (before: PricedItem, after: PricedItem, { moment, chargedFor }: Terms): Due | undefined => {
  const { additions, removals } = proratesOf(after.plan)
  const rise = after.total - before.total
  const left = daysLeftAt(moment)
  const charged = () => chargedFor({ category: after.category, key: after.item })
  if (after.quantity < before.quantity) {
    const back = giveBack(before, after, charged(), left)
    if (back.total < 0 || (rise < 0 && removals)) return back
  }
  return (rise > 0 ? additions : rise < 0 && removals) ? charge(before, after, charged(), left) : undefined
}

/**
 * The line for what moved of one item. There is none for what was not priced before or is priced otherwise now: such
 * changes are the reseller's, nobody consented to them, and they hold from the next bill. What is added costs the present
 * price; what is removed gives back what it was charged with.
 */
export const prorationOf = (
  before: PricedItem | undefined,
  after: PricedItem,
  terms: Terms,
): Proration | undefined => {
  if (!before || !isSamePlan(before, after)) return undefined
  const due = dueOf(before, after, terms)
  return (
    due && {
      category: after.category,
      key: after.item,
      item: after.plan.as ?? after.item,
      name: nameOf(after),
      quantity: after.quantity - before.quantity,
      billable: after.billable - before.billable,
      recurring: after.total - before.total,
      ...daysLeftAt(terms.moment),
      ...due,
    }
  )
}

/** The line as the API prints it. */
export const prorationJson = (proration: Proration) => {
  const { category, item, name, quantity, billable, days, daysInMonth } = proration
  return {
    category,
    item,
    name,
    quantity,
    billable,
    rate: dollarsOfUnits(proration.rate),
    recurring: dollarsOfUnits(proration.recurring),
    days,
    days_in_month: daysInMonth,
    ...taxesJson(proration.taxes),
    total: dollarsOfUnits(proration.total),
  }
}
