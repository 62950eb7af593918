import { divideRounded, dollarsOfUnits } from '../../../lib/money.ts'
import { nameOf, type PricedItem, proratesOf, taxesJson } from './items.ts'
import { type TaxLine, taxed } from './taxes.ts'

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
  /** The price of one as it is now. */
  rate: number
  /** By how much a whole month rises. */
  recurring: number
  total: number
  taxes: TaxLine[]
}

/** What is due of a monthly rise for the days that are left: rounded once, half away from zero. */
export const prorated = (rise: number, { days, daysInMonth }: DaysLeft) =>
  Number(divideRounded(BigInt(rise) * BigInt(days), BigInt(daysInMonth)))

const isSamePlan = ({ plan }: PricedItem, { plan: other }: PricedItem) =>
  plan === other || JSON.stringify(plan) === JSON.stringify(other)

/** How much of it may be given back is asked only of what is. */
const atLeast = (total: number, floor: () => number) => (total < 0 ? Math.max(total, floor()) + 0 : total)

interface Terms {
  /** Unix milliseconds. */
  moment: number
  /** Units that may be given back of an item. */
  mayGiveBack(item: { category: string; key: string }): number
}

/**
 * The line for what moved of one item. There is none for what was not priced before or is priced otherwise now: such
 * changes are the reseller's, nobody consented to them, and they hold from the next bill.
 */
export const prorationOf = (
  before: PricedItem | undefined,
  after: PricedItem,
  { moment, mayGiveBack }: Terms,
): Proration | undefined => {
  if (!before || !isSamePlan(before, after)) return undefined
  const recurring = after.total - before.total
  const { additions, removals } = proratesOf(after.plan)
  if (!(recurring > 0 ? additions : recurring < 0 && removals)) return undefined
  const left = daysLeftAt(moment)
  const place = { category: after.category, key: after.item }
  const total = atLeast(prorated(recurring, left), () => -Math.max(0, mayGiveBack(place)))
  return {
    ...place,
    item: after.plan.as ?? after.item,
    name: nameOf(after),
    quantity: after.quantity - before.quantity,
    billable: after.billable - before.billable,
    rate: after.rate,
    recurring,
    ...left,
    total,
    taxes: taxed(total, after.held).taxes,
  }
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
