// Units: 10,000 to the dollar. Arithmetic is on integers. Numbers with at most 15 significant digits are exact as text; the limits below reject others.

import type { Problems } from './failure.ts'

/** Whole micro-units: 1 dollar = 10,000 units = 10,000,000,000 micro-units. */
export type MicroUnits = bigint

export const unitsPerDollar = 10_000
const microUnitsPerUnit = 1_000_000n
const unitDecimals = 6
const dollarDecimals = 10
// Dollars have units.
const maxDecimals = 4

/** With four decimals, a larger amount could need more than 15 digits. */
export const maxDollars = 99_999_999_999

/** Limit in units of what requests may do to a balance or a month. The space up to 2^53 is for charges that must always fit. */
export const maxUnits = 9_000_000_000_000_000

interface Decimal {
  /** 1.25 is 125 with 2 decimals. */
  digits: bigint
  decimals: number
}

const decimalText = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/

/** Exact; undefined for NaN, infinities and other texts. */
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

/** Undefined: not a decimal. */
export const decimalsOf = (value: number | string): number | undefined => parseDecimal(value)?.decimals

/** The problem of a number with more decimals than four, under the path of its field. */
export const decimalProblems = (path: string, value: unknown, what = 'Money'): Problems => {
  if (typeof value !== 'number' || (decimalsOf(value) ?? 0) <= maxDecimals) return {}
  const message = `${what} has at most ${maxDecimals} decimals`
  return { [path]: { decimals: { message, target: maxDecimals, value } } }
}

/** A half is rounded away from zero. The divisor is positive. */
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

/** 0.00000005 instead of 5e-8. */
export const plainDecimal = (value: number): string => {
  const text = String(value)
  const decimal = text.includes('e') ? parseDecimal(text) : undefined
  return decimal ? written(decimal.digits, decimal.decimals) : text
}

/** A half is rounded away from zero. */
export const unitsOfDollars = (dollars: number | string): number => Number(scaled(dollars, 4))

export const dollarsOfUnits = (units: number | bigint): number => Number(written(BigInt(units), 4))

/** Exact to ten decimals. */
export const microUnitsOfDollars = (dollars: number | string): MicroUnits => scaled(dollars, dollarDecimals)

/** Exact to six decimals. */
export const microUnitsOfUnits = (units: number | string): MicroUnits =>
  typeof units === 'number' && Number.isSafeInteger(units)
    ? BigInt(units) * microUnitsPerUnit
    : scaled(units, unitDecimals)

/** A half is rounded away from zero. */
export const wholeUnitsOf = (amount: MicroUnits): number => Number(divideRounded(amount, microUnitsPerUnit))

export const dollarsText = (amount: MicroUnits): string => written(amount, dollarDecimals)

export const unitsText = (amount: MicroUnits): string => written(amount, unitDecimals)
