import type { OperatorLimits } from '../../../../lib/limit-shapes.ts'
import { divideRounded, dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'

/** Tier -> dollars. The smallest tier that is not below the quantity applies to all of it. */
export type Tiers = Readonly<Record<string, number>>

interface Discount {
  rate?: number
  minimum?: number
}

interface CumulativeDiscount extends Discount {
  maximum?: number
  rates?: Tiers
}

/** The price of an item. Dollars of at most four decimals. */
export interface ItemPlan {
  name?: string
  /** The bookkeeper's name for it. */
  as?: string
  rate?: number
  rates?: Tiers
  flat_rate?: number
  flat_rates?: Tiers
  minimum?: number
  maximum?: number
  step?: number
  activation_charge?: number
  /** Counts sub-accounts, too. */
  cascade?: boolean
  /** Items that `_all` omits. */
  exceptions?: readonly string[]
  discounts?: { single?: Discount; cumulative?: CumulativeDiscount }
  /** What is prorated. Without it the next bill charges the whole month. */
  prorate?: { additions?: boolean; removals?: boolean }
  taxes?: readonly Tax[]
  /** Counts another item instead. */
  quantity?: { category?: string; name?: string }
}

/** Category -> item -> price. `_all` is every item of its category. */
export type ItemPlans = Record<string, Record<string, ItemPlan>>

export const allItems = '_all'

export interface Bookkeeper {
  id: string
  type: string
  vendor_id: string
}

export type MergeStrategy = 'simple' | 'recursive' | 'cumulative'

export interface Application {
  name?: string
  vendor_id?: string
  enabled?: boolean
}

interface Messages {
  enabled?: boolean
  rate?: { inbound?: number; outbound?: number }
}

export interface MessagePrices {
  sms?: Messages
  mms?: Messages
}

/** The default price in dollars of one message. */
export const messagePrices = { sms: 0.007, mms: 0.015 } as const

export interface PlanDoc {
  name?: string
  description?: string
  category?: string
  plan?: ItemPlans
  merge?: { strategy?: MergeStrategy; priority?: number }
  bookkeeper?: Partial<Bookkeeper>
  ratedeck?: { id?: string; name?: string }
  applications?: Record<string, Application>
  limits?: OperatorLimits
  im?: MessagePrices
  asr?: object
}

// Integer arithmetic on units; each amount is rounded once, half away from zero.

export interface Tax {
  name: string
  /** Percent, at most four decimals. */
  rate: number
  /** The identity of the tax; its name without it. */
  tax_id?: string
  /** `US` or `US-CA`; absent: everywhere. */
  jurisdiction?: string
  /** Whether the price contains it. Others are added. */
  inclusive?: boolean
}

export interface TaxStatus {
  jurisdiction?: string
  /** From all taxes, or from those with these ids. */
  exempt?: boolean | readonly string[]
  exemption_number?: string
}

/** A tax on a price. Units. */
export interface TaxLine {
  tax: Tax
  /** The price without any tax. */
  base: number
  amount: number
}

interface Taxed {
  /** The price without contained taxes. */
  net: number
  taxes: TaxLine[]
}

const taxId = ({ tax_id: id, name }: Tax) => id ?? name

const liesIn = (jurisdiction: string | undefined, place: string) =>
  jurisdiction === place || jurisdiction?.startsWith(`${place}-`) === true

/** Whether a tax applies: the account is in its jurisdiction and not exempt. */
export const holdsFor = (tax: Tax, { jurisdiction, exempt = false }: TaxStatus): boolean => {
  if (exempt === true || (exempt !== false && exempt.includes(taxId(tax)))) return false
  return tax.jurisdiction === undefined || liesIn(jurisdiction, tax.jurisdiction)
}

const wholeRate = 1_000_000n

/** Millionths of the price. Old plans may contain taxes without a rate. */
const millionths = ({ rate = 0 }: Partial<Tax>) => BigInt(unitsOfDollars(rate))

const rateSum = (taxes: readonly Tax[]) => taxes.reduce((sum, tax) => sum + millionths(tax), 0n)

// Differences of rounded running sums, so that they add up exactly.
const sharesOf = (contained: bigint, taxes: readonly Tax[]): bigint[] => {
  const all = rateSum(taxes) || 1n
  let reached = 0n
  let given = 0n
  return taxes.map((tax) => {
    reached += millionths(tax)
    const share = divideRounded(contained * reached, all) - given
    given += share
    return share
  })
}

/**
 * Contained taxes are taken out of the price: net = price / (1 + their rates), and net and taxes add up to the price.
 * Each added tax is a share of the net. There is no tax on a tax.
 */
export const taxed = (price: number, taxes: readonly Tax[]): Taxed => {
  const inside = taxes.filter(({ inclusive }) => inclusive)
  const net = divideRounded(BigInt(price) * wholeRate, wholeRate + rateSum(inside))
  const shares = sharesOf(BigInt(price) - net, inside)
  const base = Number(net)
  const amountOf = (tax: Tax) =>
    tax.inclusive ? shares[inside.indexOf(tax)] : divideRounded(net * millionths(tax), wholeRate)
  return { net: base, taxes: taxes.map((tax) => ({ tax, base, amount: Number(amountOf(tax)) })) }
}

/** The taxes to add to prices. */
export const addedBy = (lines: readonly TaxLine[]) =>
  lines.reduce((sum, { tax, amount }) => (tax.inclusive ? sum : sum + amount), 0)

/** The identity of a tax. */
export const taxKey = (tax: Tax) =>
  JSON.stringify([taxId(tax), tax.jurisdiction ?? '', tax.rate, tax.inclusive === true])

const addTaxLines = (a: TaxLine, b: TaxLine): TaxLine => ({
  tax: a.tax,
  base: a.base + b.base,
  amount: a.amount + b.amount,
})

/** One line for each tax. Sums of rounded lines are not rounded again. */
export const taxTotals = (lines: readonly TaxLine[]): TaxLine[] =>
  [...Map.groupBy(lines, ({ tax }) => taxKey(tax)).values()].map((same) => same.reduce(addTaxLines))

export const taxJson = (tax: Tax) => ({
  name: tax.name,
  tax_id: taxId(tax),
  ...(tax.jurisdiction === undefined ? {} : { jurisdiction: tax.jurisdiction }),
  rate: tax.rate,
  inclusive: tax.inclusive === true,
})

export const taxLineJson = ({ tax, base, amount }: TaxLine) => ({
  ...taxJson(tax),
  base: dollarsOfUnits(base),
  amount: dollarsOfUnits(amount),
})
