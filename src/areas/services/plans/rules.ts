import type { Problems } from '../../../lib/failure.ts'
import { isObject } from '../../../lib/json.ts'
import { decimalsOf } from '../../../lib/money.ts'

const moneyKeys = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys = new Set(['rates', 'flat_rates'])
const mostDecimals = 4

const tooFine = (path: string, value: unknown, what = 'Money'): Problems => {
  if (typeof value !== 'number' || (decimalsOf(value) ?? 0) <= mostDecimals) return {}
  const message = `${what} has at most ${mostDecimals} decimals`
  return { [path]: { decimals: { message, target: mostDecimals, value } } }
}

const taxProblems = (taxes: readonly unknown[], path: string): Problems => {
  const rates = taxes.map((tax) => (isObject(tax) ? tax.rate : undefined))
  return Object.assign({}, ...rates.map((rate, index) => tooFine(`${path}.${index}.rate`, rate, 'A tax')))
}

/** Amounts and taxes that are finer than what is reckoned with, wherever they stand in a plan's items. */
export const moneyProblems = (items: unknown, path = 'plan'): Problems => {
  if (!isObject(items)) return {}
  const problems: Problems = {}
  for (const [key, value] of Object.entries(items)) {
    const here = `${path}.${key}`
    if (moneyKeys.has(key)) Object.assign(problems, tooFine(here, value))
    else if (tierKeys.has(key) && isObject(value))
      for (const [tier, price] of Object.entries(value))
        Object.assign(problems, tooFine(`${here}.${tier}`, price))
    else if (key === 'taxes' && Array.isArray(value)) Object.assign(problems, taxProblems(value, here))
    else Object.assign(problems, moneyProblems(value, here))
  }
  return problems
}
