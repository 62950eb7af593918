import { divideRounded, dollarsOfUnits } from '../../../../lib/money.ts'
import type { ItemPlan, Tax } from '../plans/schema.ts'
import { itemName, type PricedItem, priceItem, proratesOf, taxesJson } from './items.ts'
import { type TaxLine, taxed, taxTotals } from './plan.ts'

// Additions and removals within a month are charged or refunded for its remaining days.

/** The remaining days of a UTC month, including the day itself. */
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

/** A line for the rest of a month. Units; refunds are negative. */
export interface Proration extends DaysLeft {
  category: string
  /** The key in the plan; unique in an invoice with the category. */
  key: string
  /** The bookkeeper's name for it. */
  item: string
  name: string
  /** Added items; negative: removed. */
  quantity: number
  billable: number
  /** The current price of one; for removals the charged price. */
  rate: number
  /** The rise of the monthly price. */
  recurring: number
  total: number
  taxes: TaxLine[]
  /** The prices of the remaining items afterwards. */
  prices: readonly PriceSpan[]
}

/** Rounded once, half away from zero. */
export const prorated = (rise: number, { days, daysInMonth }: DaysLeft) =>
  Number(divideRounded(BigInt(rise) * BigInt(days), BigInt(daysInMonth)))

const isSamePlan = ({ plan }: PricedItem, { plan: other }: PricedItem) =>
  plan === other || JSON.stringify(plan) === JSON.stringify(other)

/** The price of a range of items: the price of `to` items less that of `from`. */
export interface PriceSpan {
  from: number
  to: number
  /** Absent if it was not recorded: refunded at the current price. */
  plan?: ItemPlan
  /** The taxes on it. */
  held?: readonly Tax[]
}

/** Charges of an item this month, less refunds. */
export interface ChargedItem {
  /** Units. */
  amount: number
  /** In ascending order; absent: unknown. */
  prices?: readonly PriceSpan[] | undefined
}

interface Terms {
  /** Unix milliseconds. */
  moment: number
  chargedFor(item: { category: string; key: string }): ChargedItem
}

const spansWithin = (spans: readonly PriceSpan[], from: number, to: number): PriceSpan[] =>
  spans
    .map((span) => ({ ...span, from: Math.max(span.from, from), to: Math.min(span.to, to) }))
    .filter((span) => span.from < span.to)

const isSamePrice = (a: PriceSpan, b: PriceSpan) =>
  JSON.stringify([a.plan, a.held]) === JSON.stringify([b.plan, b.held])

export const spanOf = ({ quantity, plan, held }: PricedItem, from = 0): PriceSpan => ({
  from,
  to: quantity,
  plan,
  ...(held.length === 0 ? {} : { held }),
})

const withAdded = (spans: readonly PriceSpan[], added: PriceSpan): PriceSpan[] => {
  const kept = spansWithin(spans, 0, added.from)
  const last = kept.at(-1)
  return last && last.to === added.from && isSamePrice(last, added)
    ? [...kept.slice(0, -1), { ...last, to: added.to }]
    : [...kept, added]
}

const pricedAt = ({ category, item, plan }: PricedItem, { plan: then = plan }: PriceSpan, quantity: number) =>
  priceItem({ category, item, plan: then, quantity })

/** The monthly price of a span. */
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
 * The items added last are removed first, at their charged price. Refunds need the plan of the addition or the
 * current one to grant them.
 */
const refundRemoval = (
  before: PricedItem,
  after: PricedItem,
  { amount, prices = [{ from: 0, to: before.quantity }] }: ChargedItem,
  left: DaysLeft,
): Due => {
  const parts = spansWithin(prices, after.quantity, before.quantity).toReversed()
  let most = Math.max(0, amount)
  const backs = parts.map((span) => {
    const isPromised = [span.plan ?? {}, after.plan].some((plan) => proratesOf(plan).removals)
    // With tiers fewer items may cost more: a removal charges nothing.
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
    prices: spansWithin(prices, 0, after.quantity),
    rate: newest ? pricedAt(after, newest, newest.to).rate : after.rate,
  }
}

const dueOf = (before: PricedItem, after: PricedItem, { moment, chargedFor }: Terms): Due | undefined => {
  const { additions, removals } = proratesOf(after.plan)
  const rise = after.total - before.total
  const left = daysLeftAt(moment)
  const charged = () => chargedFor({ category: after.category, key: after.item })
  if (after.quantity < before.quantity) {
    const back = refundRemoval(before, after, charged(), left)
    if (back.total < 0 || (rise < 0 && removals)) return back
  }
  return (rise > 0 ? additions : rise < 0 && removals) ? charge(before, after, charged(), left) : undefined
}

/**
 * The line of a changed count. Undefined if the item is newly priced or its price changed: such changes of the
 * reseller apply from the next bill.
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
      name: itemName(after),
      quantity: after.quantity - before.quantity,
      billable: after.billable - before.billable,
      recurring: after.total - before.total,
      ...daysLeftAt(terms.moment),
      ...due,
    }
  )
}

/** The line in responses. */
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
