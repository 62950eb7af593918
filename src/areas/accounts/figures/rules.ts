import { daySeconds } from '../../../lib/gregorian.ts'
import type { TimeWindow } from '../../../lib/time-bounds.ts'

export const sortings = ['name', 'balance', 'calls'] as const
export type Sorting = (typeof sortings)[number]

/** With more sub-accounts, they are listed by name only: other orders read all of them for each page. */
export const maxSorted = 10_000

/** Today and the days before it. */
export const countedDays = 30

/** Statistics of many accounts are sums of whole UTC days. The end is exclusive. */
export const daysIn = ({ from, to }: TimeWindow) => ({
  from: Math.floor(from / daySeconds) * daySeconds,
  end: (Math.floor(to / daySeconds) + 1) * daySeconds,
})

export interface Ranked {
  id: string
  value: number
}

/** A page of ranked accounts after a cursor, which holds the value and the id of the last one. */
export const pageOf = (
  all: readonly Ranked[],
  { after, limit, descending }: { after?: readonly [string, string]; limit: number; descending: boolean },
): Ranked[] => {
  const sign = descending ? -1 : 1
  const compare = (a: Ranked, b: Ranked) => sign * (a.value - b.value || (a.id < b.id ? -1 : 1))
  const last = after && { value: Number(after[0]), id: after[1] }
  const rest = last ? all.filter((one) => one.id !== last.id && compare(one, last) > 0) : all
  return rest.toSorted(compare).slice(0, limit)
}
