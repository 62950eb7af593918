import { divideRounded, dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'

// Which taxes an account bears on an item, and what they come to. All arithmetic is on whole units; each amount is
// rounded once, half away from zero.

/** A tax as an item plan names it. */
export interface Tax {
  name: string
  /** Percent, of at most four decimals. */
  rate: number
  /** What tells it from others; its name where there is none. */
  tax_id?: string
  /** A country (`US`) or a part of one (`US-CA`). A tax without it holds everywhere. */
  jurisdiction?: string
  /** Whether the price contains it. Others are added to the price. */
  inclusive?: boolean
}

/** How an account stands to taxes. */
export interface TaxStatus {
  jurisdiction?: string
  /** From all taxes, or from these by their `tax_id`. */
  exempt?: boolean | readonly string[]
  /** What the account proves its exemption with. */
  exemption_number?: string
}

/** What one tax comes to on one price. Money is in units. */
export interface TaxLine {
  tax: Tax
  /** The price without any tax. */
  base: number
  amount: number
}

interface Taxed {
  /** The price without the taxes that it contains. */
  net: number
  taxes: TaxLine[]
}

const taxId = ({ tax_id: id, name }: Tax) => id ?? name

const liesIn = (jurisdiction: string | undefined, place: string) =>
  jurisdiction === place || jurisdiction?.startsWith(`${place}-`) === true

/** Whether an account bears a tax: it must be where the tax holds, and not be exempt. */
export const holdsFor = (tax: Tax, { jurisdiction, exempt = false }: TaxStatus): boolean => {
  if (exempt === true || (exempt !== false && exempt.includes(taxId(tax)))) return false
  return tax.jurisdiction === undefined || liesIn(jurisdiction, tax.jurisdiction)
}

const wholeRate = 1_000_000n

/** Millionths of the price. Plans of before taxes had rates may hold one without. */
const millionths = ({ rate = 0 }: Partial<Tax>) => BigInt(unitsOfDollars(rate))

const sumOf = (taxes: readonly Tax[]) => taxes.reduce((sum, tax) => sum + millionths(tax), 0n)

// Each line is the difference of two rounded running sums: together they are the whole, to the unit.
const sharesOf = (contained: bigint, taxes: readonly Tax[]): bigint[] => {
  const all = sumOf(taxes) || 1n
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
 * The taxes on a price. Those it contains are taken out of it (price / (1 + their rates) is the net, net and taxes are
 * the price exactly); each of the others is a share of the net, for itself: there is no tax on a tax.
 */
export const taxed = (price: number, taxes: readonly Tax[]): Taxed => {
  const inside = taxes.filter(({ inclusive }) => inclusive)
  const net = divideRounded(BigInt(price) * wholeRate, wholeRate + sumOf(inside))
  const shares = sharesOf(BigInt(price) - net, inside)
  const base = Number(net)
  const amountOf = (tax: Tax) =>
    tax.inclusive ? shares[inside.indexOf(tax)] : divideRounded(net * millionths(tax), wholeRate)
  return { net: base, taxes: taxes.map((tax) => ({ tax, base, amount: Number(amountOf(tax)) })) }
}

/** What lines of taxes add to prices: those that prices contain are paid with them. */
export const addedBy = (lines: readonly TaxLine[]) =>
  lines.reduce((sum, { tax, amount }) => (tax.inclusive ? sum : sum + amount), 0)

/** What is one tax, on whatever it is. */
export const taxKey = (tax: Tax) =>
  JSON.stringify([taxId(tax), tax.jurisdiction ?? '', tax.rate, tax.inclusive === true])

const together = (a: TaxLine, b: TaxLine): TaxLine => ({
  tax: a.tax,
  base: a.base + b.base,
  amount: a.amount + b.amount,
})

/** One line for each tax: sums of rounded lines, not rounded again. */
export const taxTotals = (lines: readonly TaxLine[]): TaxLine[] =>
  [...Map.groupBy(lines, ({ tax }) => taxKey(tax)).values()].map((same) => same.reduce(together))

/** A tax as the API prints it. */
export const taxJson = (tax: Tax) => ({
  name: tax.name,
  tax_id: taxId(tax),
  ...(tax.jurisdiction === undefined ? {} : { jurisdiction: tax.jurisdiction }),
  rate: tax.rate,
  inclusive: tax.inclusive === true,
})

/** The line as the API prints it. */
export const taxLineJson = ({ tax, base, amount }: TaxLine) => ({
  ...taxJson(tax),
  base: dollarsOfUnits(base),
  amount: dollarsOfUnits(amount),
})
