import { isObject, type Json } from '../../../src/lib/json.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../../src/lib/money.ts'
import type { Finding } from '../../documents/document.ts'

// Prices are floats there. Here they have four decimals, and whole units are reckoned with.

const moneyKeys: ReadonlySet<string> = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys: ReadonlySet<string> = new Set(['rates', 'flat_rates'])
const mostDecimals = 4

export type Said = Omit<Finding, 'database' | 'id'>

const roundedPrice = (price: unknown, field: string, say: (said: Said) => void): unknown => {
  if (typeof price !== 'number' && typeof price !== 'string') return price
  if ((decimalsOf(price) ?? 0) <= mostDecimals) return price
  const rounded = dollarsOfUnits(unitsOfDollars(price))
  say({ severity: 'repaired', code: 'price_rounded', field, old: String(price), new: String(rounded) })
  return rounded
}

const isPriceAt = (path: readonly string[]) => {
  const key = path.at(-1) ?? ''
  return moneyKeys.has(key) || tierKeys.has(path.at(-2) ?? '')
}

const roundedIn = (value: unknown, path: readonly string[], say: (said: Said) => void): unknown => {
  if (Array.isArray(value)) return value.map((one, index) => roundedIn(one, [...path, String(index)], say))
  if (!isObject(value)) return isPriceAt(path) ? roundedPrice(value, path.join('.'), say) : value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      if (key !== 'markup_type') return [[key, roundedIn(member, [...path, key], say)]]
      say({
        severity: 'left_out',
        code: 'markup_left_out',
        field: [...path, key].join('.'),
        old: String(member),
      })
      return []
    }),
  )
}

/** Items of a plan, or what holds in place of some of them, with prices that can be reckoned with. */
export const roundedItems = (items: Json, say: (said: Said) => void): Json =>
  Object.fromEntries(
    Object.entries(items).flatMap(([category, ofCategory]) =>
      isObject(ofCategory) ? [[category, roundedIn(ofCategory, ['plan', category], say)]] : [],
    ),
  )
