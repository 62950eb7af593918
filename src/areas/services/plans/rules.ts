import type { Problems } from '../../../lib/failure.ts'
import { isObject } from '../../../lib/json.ts'
import { decimalsOf } from '../../../lib/money.ts'

const moneyKeys = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys = new Set(['rates', 'flat_rates'])
const mostDecimals = 4

const tooFine = (path: string, value: unknown): Problems => {
  if (typeof value !== 'number' || (decimalsOf(value) ?? 0) <= mostDecimals) return {}
  const message = `Money has at most ${mostDecimals} decimals`
  return { [path]: { decimals: { message, target: mostDecimals, value } } }
}

/** Amounts that are finer than the smallest unit of money, wherever they stand in a plan's items. */
export const moneyProblems = (items: unknown, path = 'plan'): Problems => {
  if (!isObject(items)) return {}
  const problems: Problems = {}
  for (const [key, value] of Object.entries(items)) {
    const here = `${path}.${key}`
    if (moneyKeys.has(key)) Object.assign(problems, tooFine(here, value))
    else if (tierKeys.has(key) && isObject(value))
      for (const [tier, price] of Object.entries(value))
        Object.assign(problems, tooFine(`${here}.${tier}`, price))
    else if (key !== 'taxes') Object.assign(problems, moneyProblems(value, here))
  }
  return problems
}
