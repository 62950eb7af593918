import { dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import type { ItemPlan, Tax } from '../plans/schema.ts'
import { itemsIn, noItems, type Quantities } from '../quantities/rules.ts'
import type { TaxStatus } from '../schema.ts'
import { allItems, holdsFor, type TaxLine, taxed, taxLineJson } from './plan.ts'

/** Own counts, those of sub-accounts, and manual ones that replace own counts. */
export interface Counted {
  account: Quantities
  cascade: Quantities
  manual: Quantities
}

/** A line of an invoice. Units. */
export interface PricedItem {
  category: string
  item: string
  plan: ItemPlan
  quantity: number
  billable: number
  rate: number
  single: number
  cumulative: { rate: number; quantity: number }
  discount: number
  /** The monthly price, with contained taxes and without added ones. */
  total: number
  /** The taxes of the plan that apply to the account. */
  held: readonly Tax[]
  /** Their amounts on the total. */
  taxes: TaxLine[]
}

const units = (dollars: number | undefined) => unitsOfDollars(dollars ?? 0)

const sumBut = (items: Readonly<Record<string, number>>, exceptions: readonly string[]) =>
  Object.entries(items).reduce((sum, [item, count]) => (exceptions.includes(item) ? sum : sum + count), 0)

const countIn = (items: Readonly<Record<string, number>>, name: string) =>
  Object.hasOwn(items, name) ? (items[name] ?? 0) : 0

/** The count of an item plan. */
export const quantityOf = (counted: Counted, category: string, item: string, plan: ItemPlan): number => {
  const from = plan.quantity?.category ?? category
  const name = plan.quantity?.name ?? item
  const own = { ...itemsIn(counted.account, from), ...itemsIn(counted.manual, from) }
  const below = plan.cascade ? itemsIn(counted.cascade, from) : noItems()
  if (name !== allItems) return countIn(own, name) + countIn(below, name)
  const exceptions = plan.exceptions ?? []
  return sumBut(own, exceptions) + sumBut(below, exceptions)
}

const roundedUp = (count: number, step: number) => Math.ceil(count / step) * step

/** Whole steps between the minimum and the maximum, which are rounded up to steps. */
const billableOf = (quantity: number, { step = 1, minimum = 0, maximum }: ItemPlan) => {
  const raised = Math.max(roundedUp(quantity, step), roundedUp(minimum, step))
  return maximum === undefined ? raised : Math.min(raised, roundedUp(maximum, step))
}

/** The smallest tier that is not below the quantity applies to all of it. */
const tierOf = (tiers: Record<string, number> | undefined, quantity: number): number | undefined => {
  const reached = Object.keys(tiers ?? {})
    .map(Number)
    .filter((tier) => tier >= quantity)
  return reached.length === 0 ? undefined : units(tiers?.[String(Math.min(...reached))])
}

/** The first given price in this order. A flat one is for all items together. */
const priceOf = (plan: ItemPlan, billable: number): { billable: number; rate: number } => {
  const flatTier = tierOf(plan.flat_rates, billable)
  if (flatTier !== undefined) return { billable: 1, rate: flatTier }
  if (units(plan.flat_rate) > 0) return { billable: 1, rate: units(plan.flat_rate) }
  return { billable, rate: tierOf(plan.rates, billable) ?? units(plan.rate) }
}

// Discounts refer to the base rate: an item with only tiers has none.
const applies = (plan: ItemPlan, minimum: number | undefined, billable: number) =>
  units(plan.rate) > 0 && billable >= (minimum ?? 1)

const singleDiscount = (plan: ItemPlan, billable: number): number => {
  const single = plan.discounts?.single
  return single && applies(plan, single.minimum, billable) ? units(single.rate ?? plan.rate) : 0
}

const cumulativeDiscount = (plan: ItemPlan, billable: number): PricedItem['cumulative'] => {
  const cumulative = plan.discounts?.cumulative
  if (!cumulative || !applies(plan, cumulative.minimum, billable)) return { rate: 0, quantity: 0 }
  const quantity = Math.min(billable, cumulative.maximum ?? 0)
  return { quantity, rate: tierOf(cumulative.rates, quantity) ?? units(cumulative.rate ?? plan.rate) }
}

interface CountedItem {
  category: string
  item: string
  plan: ItemPlan
  quantity: number
}

/** Integer arithmetic: only taxes are rounded. */
export const priceItem = (counted: CountedItem, standing: TaxStatus = {}): PricedItem => {
  const { category, item, plan, quantity } = counted
  const { billable, rate } = priceOf(plan, billableOf(quantity, plan))
  const single = singleDiscount(plan, billable)
  const cumulative = cumulativeDiscount(plan, billable)
  const price = billable * rate
  // A larger discount makes the item free but takes nothing off others.
  const total = Math.max(0, price - single - cumulative.rate * cumulative.quantity)
  const discount = price - total
  const held = (plan.taxes ?? []).filter((tax) => holdsFor(tax, standing))
  const { taxes } = taxed(total, held)
  return { category, item, plan, quantity, billable, rate, single, cumulative, discount, total, held, taxes }
}

const discountsJson = ({ single, cumulative, discount }: PricedItem) => ({
  total: dollarsOfUnits(discount),
  ...(single === 0 ? {} : { single: { rate: dollarsOfUnits(single) } }),
  ...(cumulative.quantity === 0
    ? {}
    : { cumulative: { rate: dollarsOfUnits(cumulative.rate), quantity: cumulative.quantity } }),
})

export const itemName = ({ category, item, plan }: PricedItem) =>
  plan.name ?? (item === allItems ? category : `${category}/${item}`)

/**
 * What is prorated. Removals are refunded only if additions are charged; otherwise adding and removing would earn
 * money.
 */
export const proratesOf = ({ prorate }: ItemPlan) => {
  const additions = prorate?.additions === true
  return { additions, removals: additions && prorate?.removals === true }
}

export const taxesJson = (taxes: readonly TaxLine[]) =>
  taxes.length === 0 ? {} : { taxes: taxes.map(taxLineJson) }

/** The line in responses. */
export const itemJson = (priced: PricedItem) => {
  const { category, item, plan, quantity, billable, rate, discount, total } = priced
  return {
    category,
    item: plan.as ?? item,
    name: itemName(priced),
    quantity,
    billable,
    rate: dollarsOfUnits(rate),
    ...(discount === 0 ? {} : { discounts: discountsJson(priced), discount: dollarsOfUnits(discount) }),
    ...(plan.minimum ? { minimum: plan.minimum } : {}),
    ...(plan.maximum === undefined ? {} : { maximum: plan.maximum }),
    prorate: proratesOf(plan),
    taxes: priced.taxes.map(taxLineJson),
    total: dollarsOfUnits(total),
  }
}

export type ItemJson = ReturnType<typeof itemJson>
