// Money is counted in units, 10,000 to the dollar, and prices per minute finer, in micro-units. All arithmetic is on
// whole numbers. A JavaScript number is only the carrier of a decimal text: what JSON says with at most 15 significant
// digits comes back digit by digit as the shortest text of the double it was parsed to, so reading that text is exact.
// What needs more digits is refused by the limits below, never rounded silently.

/** Whole micro-units: 1 dollar = 10,000 units = 10,000,000,000 micro-units. */
export type MicroUnits = bigint

export const unitsPerDollar = 10_000
const microUnitsPerUnit = 1_000_000n
const unitDecimals = 6
const dollarDecimals = 10

/** Beyond this, a text with four decimals could have more than 15 digits. */
export const maxDollars = 99_999_999_999

/**
 * How far what somebody asks for may take a balance, in units either way, and a month's sums. What is beyond up to 2^53
 * is left to what is owed without being asked for, so that nobody can fill a ledger to be charged no more.
 */
export const maxUnits = 9_000_000_000_000_000

interface Decimal {
  /** The value without its point: 1.25 is 125 with 2 decimals. */
  digits: bigint
  decimals: number
}

const decimalText = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/

/** The exact value of a number's text, or undefined when there is none (NaN, infinities, other texts). */
export const parseDecimal = (value: number | string): Decimal | undefined => {
  const found = decimalText.exec(String(value))
  if (!found) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = found
  if (whole === '' && fraction === '') return undefined
  const digits = BigInt(`${sign}${whole}${fraction}`)
  const decimals = fraction.length - Number(exponent)
  return decimals < 0
    ? { digits: digits * 10n ** BigInt(-decimals), decimals: 0 }
    : withoutTail(digits, decimals)
}

const withoutTail = (digits: bigint, decimals: number): Decimal => {
  if (digits === 0n) return { digits, decimals: 0 }
  let [shorter, left] = [digits, decimals]
  while (left > 0 && shorter % 10n === 0n) {
    shorter /= 10n
    left -= 1
  }
  return { digits: shorter, decimals: left }
}

/** How many decimals a number is written with; undefined when it is no decimal. */
export const decimalsOf = (value: number | string): number | undefined => parseDecimal(value)?.decimals

/** The quotient rounded to a whole number; a half goes away from zero. The divisor is positive. */
export const divideRounded = (dividend: bigint, divisor: bigint): bigint => {
  const doubled = 2n * (dividend < 0n ? -dividend : dividend) + divisor
  const rounded = doubled / (2n * divisor)
  return dividend < 0n ? -rounded : rounded
}

const scaled = (value: number | string, decimals: number): bigint => {
  const decimal = parseDecimal(value)
  if (!decimal) throw new RangeError(`not an amount of money: ${value}`)
  const missing = decimals - decimal.decimals
  return missing >= 0
    ? decimal.digits * 10n ** BigInt(missing)
    : divideRounded(decimal.digits, 10n ** BigInt(-missing))
}

const written = (value: bigint, decimals: number): string => {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return `${value < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

/** A number in its own digits and without an exponent: 0.00000005 in place of 5e-8. */
export const plainDecimal = (value: number): string => {
  const text = String(value)
  const decimal = text.includes('e') ? parseDecimal(text) : undefined
  return decimal ? written(decimal.digits, decimal.decimals) : text
}

/** Dollars to the nearest unit; half a unit goes away from zero. */
export const unitsOfDollars = (dollars: number | string): number => Number(scaled(dollars, 4))

/** The number that prints as exactly these dollars. */
export const dollarsOfUnits = (units: number | bigint): number => Number(written(BigInt(units), 4))

/** Dollars of up to ten decimals, exactly; further decimals are rounded half away from zero. */
export const microUnitsOfDollars = (dollars: number | string): MicroUnits => scaled(dollars, dollarDecimals)

/** Units of up to six decimals, exactly. */
export const microUnitsOfUnits = (units: number | string): MicroUnits =>
  typeof units === 'number' && Number.isSafeInteger(units)
    ? BigInt(units) * microUnitsPerUnit
    : scaled(units, unitDecimals)

/** To the nearest unit; half a unit goes away from zero. */
export const wholeUnitsOf = (amount: MicroUnits): number => Number(divideRounded(amount, microUnitsPerUnit))

/** Decimal text in dollars, without trailing zeros. */
export const dollarsText = (amount: MicroUnits): string => written(amount, dollarDecimals)

/** Decimal text in units, without trailing zeros. */
export const unitsText = (amount: MicroUnits): string => written(amount, unitDecimals)
