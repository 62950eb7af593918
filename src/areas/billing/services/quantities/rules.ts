import { monthAfter } from '../../../../lib/gregorian.ts'
import { dayNumber } from '../../../../lib/time-key.ts'
/** A change of a count, of the account's own or its sub-accounts'. */
export interface QuantityMove {
  accountId: string
  id: string
  /** Unix milliseconds. */
  at: number
  category: string
  item: string
  own: number
  below: number
}

/** The moves of one count on one day. */
export interface DaySum extends Omit<QuantityMove, 'id' | 'at'> {
  /** Like 20261121, in UTC. */
  day: number
  addition: number
  removal: number
  /** Unix milliseconds. */
  lastAt: number
}

const sumKeyOf = ({ accountId, category, item, day }: DaySum) =>
  JSON.stringify([accountId, category, item, day])

const moveSumOf = ({ accountId, category, item, own, below, at }: QuantityMove): DaySum => {
  const delta = own + below
  const addition = Math.max(delta, 0)
  const removal = Math.max(-delta, 0)
  return { accountId, category, item, own, below, day: dayNumber(at), addition, removal, lastAt: at }
}

/** The same for a parent account. */
const seenFrom = (sum: DaySum, accountId: string): DaySum => ({
  ...sum,
  accountId,
  own: 0,
  below: sum.own + sum.below,
})

const add = (a: DaySum, b: DaySum): DaySum => ({
  ...a,
  own: a.own + b.own,
  below: a.below + b.below,
  addition: a.addition + b.addition,
  removal: a.removal + b.removal,
  lastAt: Math.max(a.lastAt, b.lastAt),
})

const addUp = (sums: readonly DaySum[]) =>
  [...Map.groupBy(sums, sumKeyOf).values()].map((group) => group.reduce(add))

/** The sums of moves for their accounts and all parents, earlier days first. `above` returns the parents. */
export const sumsOf = (
  moves: readonly QuantityMove[],
  above: (accountId: string) => readonly string[],
): DaySum[] => {
  const own = addUp(moves.map(moveSumOf))
  const all = own.flatMap((sum) => [sum, ...above(sum.accountId).map((id) => seenFrom(sum, id))])
  return addUp(all).sort((a, b) => a.day - b.day)
}

/** Category -> item -> count; zeros are omitted. */
export type Quantities = Record<string, Record<string, number>>

/** Customers may name items `constructor` or `__proto__`. */
export const noItems = (): Record<string, number> => Object.create(null)

/** The counts of a category. Its name may be `toString`, too. */
export const itemsIn = (quantities: Quantities, category: string): Record<string, number> =>
  (Object.hasOwn(quantities, category) ? quantities[category] : undefined) ?? noItems()

export const itemCount = (quantities: Quantities, category: string, item: string): number | undefined => {
  const items = itemsIn(quantities, category)
  return Object.hasOwn(items, item) ? items[item] : undefined
}

export const quantitiesBy = <Row extends { category: string; item: string }>(
  rows: readonly Row[],
  pick: (row: Row) => number,
): Quantities => {
  const quantities: Quantities = {}
  for (const row of rows) {
    const count = pick(row)
    if (count === 0) continue
    const items = itemsIn(quantities, row.category)
    items[row.item] = count
    quantities[row.category] = items
  }
  return quantities
}

/** The counts of an account and of its sub-accounts. */
export interface Totals {
  account: Quantities
  cascade: Quantities
}

const addTo = (quantities: Quantities, category: string, item: string, delta: number) => {
  if (delta === 0) return
  const count = itemCount(quantities, category, item) ?? 0
  quantities[category] = { ...itemsIn(quantities, category), [item]: count + delta }
}

/** Each count with its category and item. */
export const leavesOf = (quantities: Quantities) =>
  Object.entries(quantities).flatMap(([category, items]) =>
    Object.entries(items).map(([item, count]) => ({ category, item, count })),
  )

/** The counts after some moves. Moves of sub-accounts go to the cascade. */
export const moved = <T extends Totals>(
  totals: T,
  accountId: string,
  moves: readonly { accountId: string; category: string; item: string; delta: number }[],
): T => {
  const account = { ...totals.account }
  const cascade = { ...totals.cascade }
  for (const { accountId: mover, category, item, delta } of moves)
    addTo(mover === accountId ? account : cascade, category, item, delta)
  return { ...totals, account, cascade }
}

const sumsOfItems = (counts: Quantities, more: Quantities): Quantities => {
  const sums = { ...counts }
  for (const { category, item, count } of leavesOf(more)) addTo(sums, category, item, count)
  return sums
}

export const withMore = <T extends Totals>(totals: T, { account, cascade }: Totals): T => ({
  ...totals,
  account: sumsOfItems(totals.account, account),
  cascade: sumsOfItems(totals.cascade, cascade),
})

/** The differences to be added to `from`. */
export const differencesBetween = (
  from: Quantities,
  to: Quantities,
): { category: string; item: string; delta: number }[] => {
  const categories = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...categories].flatMap((category) => {
    const items = new Set([from, to].flatMap((counts) => Object.keys(itemsIn(counts, category))))
    const countIn = (counts: Quantities, item: string) => itemCount(counts, category, item) ?? 0
    return [...items]
      .map((item) => ({ category, item, delta: countIn(to, item) - countIn(from, item) }))
      .filter(({ delta }) => delta !== 0)
  })
}

/** The own count at the end of a day on which it changed. */
export interface DayCount {
  category: string
  item: string
  /** Like 20261121. */
  day: number
  own: number
}

/** Undefined before there was any. */
export interface MonthCount {
  /** Like 202611. */
  month: number
  category: string
  item: string
  atBeginning: number | undefined
  /** Undefined during the month. */
  atEnd: number | undefined
}

const monthsOfItem = (days: readonly DayCount[], current: number): MonthCount[] => {
  const [first] = days
  if (!first) return []
  const { category, item } = first
  const months: MonthCount[] = []
  let before: number | undefined
  for (let month = Math.floor(first.day / 100); month <= current; month = monthAfter(month)) {
    const last = days.findLast(({ day }) => Math.floor(day / 100) === month)?.own ?? before
    months.push({ month, category, item, atBeginning: before, atEnd: month < current ? last : undefined })
    before = last
  }
  return months.filter(({ atBeginning, atEnd }) => atBeginning !== undefined || atEnd !== undefined)
}

/** The months up to the current one, the earliest first. Days come in order. */
export const monthCounts = (days: readonly DayCount[], currentMonth: number): MonthCount[] =>
  [...Map.groupBy(days, ({ category, item }) => JSON.stringify([category, item])).values()]
    .flatMap((ofItem) => monthsOfItem(ofItem, currentMonth))
    .sort((a, b) => a.month - b.month)
