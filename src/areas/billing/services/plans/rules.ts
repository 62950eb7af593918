import type { Problems } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { decimalProblems } from '../../../../lib/money.ts'
import type { Warning } from '../../../../settings/unknown-keys.ts'
import { PlanOverrides } from './schema.ts'

const moneyKeys = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys = new Set(['rates', 'flat_rates'])
const taxProblems = (taxes: readonly unknown[], path: string): Problems => {
  const rates = taxes.map((tax) => (isObject(tax) ? tax.rate : undefined))
  return Object.assign(
    {},
    ...rates.map((rate, index) => decimalProblems(`${path}.${index}.rate`, rate, 'A tax')),
  )
}

// Ledgers book calls at their price when they happen.
const markedUp = (path: string, value: unknown): Problems => {
  if (value === null) return {}
  const message = 'Ledger entries have no markup: rates price calls when they happen'
  return { [path]: { forbidden: { message, value } } }
}

const crossedBounds = (path: string, { minimum, maximum }: Json): Problems => {
  if (typeof minimum !== 'number' || typeof maximum !== 'number' || minimum <= maximum) return {}
  const message = 'The minimum is above the maximum'
  return { [`${path}.minimum`]: { maximum: { message, target: maximum, value: minimum } } }
}

/** The problems of items at any depth: amounts and taxes with too many decimals, and values without effect. */
export const itemProblems = (items: unknown, path = 'plan'): Problems => {
  if (!isObject(items)) return {}
  const problems: Problems = {}
  for (const [key, value] of Object.entries(items)) {
    const here = `${path}.${key}`
    if (key === 'markup_type') Object.assign(problems, markedUp(here, value))
    else if (moneyKeys.has(key)) Object.assign(problems, decimalProblems(here, value))
    else if (tierKeys.has(key) && isObject(value))
      for (const [tier, price] of Object.entries(value))
        Object.assign(problems, decimalProblems(`${here}.${tier}`, price))
    else if (key === 'taxes' && Array.isArray(value)) Object.assign(problems, taxProblems(value, here))
    else Object.assign(problems, itemProblems(value, here))
    // In cumulative discounts they count different things.
    if (isObject(value) && key !== 'cumulative') Object.assign(problems, crossedBounds(here, value))
  }
  return problems
}

const emptyObject = 'This object is empty and has no effect'

const isCountedElsewhere = (item: unknown) =>
  isObject(item) && isObject(item.quantity) && item.quantity.category

/** `counted`: the categories that the server counts. */
export const itemWarnings = (items: unknown, counted: ReadonlySet<string>, path = 'plan'): Warning[] =>
  Object.entries(isObject(items) ? items : {}).flatMap(([category, inCategory]) => {
    const here = `${path}.${category}`
    const inside = Object.entries(isObject(inCategory) ? inCategory : {})
    const empty = inside.filter(([, item]) => isObject(item) && Object.keys(item).length === 0)
    const isCounted = counted.has(category) || inside.some(([, item]) => isCountedElsewhere(item))
    return [
      ...(isCounted ? [] : [{ path: here, message: 'Only manual quantities count items of this category' }]),
      ...(inside.length === 0 ? [{ path: here, message: emptyObject }] : []),
      ...empty.map(([item]) => ({ path: `${here}.${item}`, message: emptyObject })),
    ]
  })

const partsOfPlan = new Set(Object.keys(PlanOverrides.properties))

/** Unknown keys are kept, but a category outside `plan` would be a price without effect. `path` ends with a dot. */
export const overridesProblems = (overrides: Readonly<Json> | undefined, path = ''): Problems => {
  const misplaced = Object.entries(overrides ?? {}).filter(
    ([key, value]) => !partsOfPlan.has(key) && isObject(value) && Object.values(value).some(isObject),
  )
  const message = 'Put categories and their items in plan'
  return {
    ...itemProblems(overrides?.plan, `${path}plan`),
    ...Object.fromEntries(
      misplaced.map(([key]) => [`${path}${key}`, { additionalProperties: { message, target: key } }]),
    ),
  }
}
