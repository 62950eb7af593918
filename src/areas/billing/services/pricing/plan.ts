import { divideRounded, dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import type { Tax } from '../plans/schema.ts'
import type { TaxStatus } from '../schema.ts'

export const allItems = '_all'

export interface Bookkeeper {
  id: string
  type: string
  vendor_id: string
}

// Integer arithmetic on units; each amount is rounded once, half away from zero.

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
