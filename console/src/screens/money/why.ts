import i18next from 'i18next'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { isObject } from '../../lib/json.ts'
import { listAt, numberAt, partAt, textAt } from './values.ts'

/** How the plan prices the item of a line: the bookkeeper may call it otherwise than the plan does. */
export const planOf = (plan: unknown, item: unknown): unknown => {
  const items = partAt(plan, textAt(item, 'category') ?? '')
  const name = textAt(item, 'item') ?? ''
  if (!isObject(items)) return undefined
  return items[name] ?? Object.values(items).find((one) => textAt(one, 'as') === name)
}

const hasKeys = (value: unknown) => isObject(value) && Object.keys(value).length > 0

const say = (key: string, values: Record<string, string>) => i18next.t(`money.why.${key}`, values)

const counted = (item: unknown) => {
  const quantity = numberAt(item, 'quantity') ?? 0
  const billable = numberAt(item, 'billable') ?? quantity
  if (quantity === billable) return []
  return [say('billed', { quantity: showNumber(quantity), billable: showNumber(billable) })]
}

const bounds = (item: unknown, plan: unknown) => {
  const minimum = numberAt(item, 'minimum')
  const maximum = numberAt(item, 'maximum')
  const step = numberAt(plan, 'step')
  return [
    ...(minimum === undefined ? [] : [say('minimum', { count: showNumber(minimum) })]),
    ...(maximum === undefined ? [] : [say('maximum', { count: showNumber(maximum) })]),
    ...(step === undefined || step === 1 ? [] : [say('step', { count: showNumber(step) })]),
  ]
}

const price = (item: unknown, plan: unknown) => {
  const billable = numberAt(item, 'billable') ?? numberAt(item, 'quantity') ?? 0
  const rate = numberAt(item, 'rate') ?? 0
  const values = { billable: showNumber(billable), rate: showMoney(rate), sum: showMoney(billable * rate) }
  if (hasKeys(partAt(plan, 'flat_rates')) || numberAt(plan, 'flat_rate')) return [say('flat', values)]
  return [say(hasKeys(partAt(plan, 'rates')) ? 'tier' : 'times', values)]
}

const discounts = (item: unknown) => {
  const given = partAt(item, 'discounts')
  const single = numberAt(partAt(given, 'single'), 'rate')
  const cumulative = partAt(given, 'cumulative')
  const rate = numberAt(cumulative, 'rate')
  const quantity = numberAt(cumulative, 'quantity') ?? 0
  return [
    ...(single === undefined ? [] : [say('single', { amount: showMoney(-single) })]),
    ...(rate === undefined
      ? []
      : [
          say('cumulative', {
            quantity: showNumber(quantity),
            rate: showMoney(rate),
            amount: showMoney(-rate * quantity),
          }),
        ]),
  ]
}

const onceAndDaily = (item: unknown, plan: unknown) => {
  const activation = numberAt(plan, 'activation_charge') ?? 0
  const prorate = partAt(item, 'prorate')
  return [
    ...(activation > 0 ? [say('activation', { amount: showMoney(activation) })] : []),
    ...(partAt(prorate, 'additions') === true ? [say('prorateAdditions', {})] : []),
    ...(partAt(prorate, 'removals') === true ? [say('prorateRemovals', {})] : []),
    ...(partAt(plan, 'cascade') === true ? [say('cascade', {})] : []),
  ]
}

/** A tax in words: what it is on, and whether it is added or contained. */
export const sayTax = (tax: unknown, currency?: string) =>
  say(partAt(tax, 'inclusive') === true ? 'taxIn' : 'taxAdded', {
    name: textAt(tax, 'name') ?? '',
    rate: showNumber(numberAt(tax, 'rate') ?? 0),
    base: showMoney(numberAt(tax, 'base') ?? 0, currency),
    amount: showMoney(numberAt(tax, 'amount') ?? 0, currency),
  })

/** Why a line comes to what it comes to, sentence by sentence, in the order in which it is reckoned. */
export const reasonsOf = (item: unknown, plan: unknown): readonly string[] => [
  ...counted(item),
  ...bounds(item, plan),
  ...price(item, plan),
  ...discounts(item),
  ...listAt(item, 'taxes').map((tax) => sayTax(tax)),
  ...onceAndDaily(item, plan),
]
