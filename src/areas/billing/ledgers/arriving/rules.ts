import { rolloverId } from '../rules.ts'

// The book of another system: each of its months stands for itself, and begins with what it says that it begins with.
// Here a balance is what all entries come to but those that only carry it over. Where a month does not begin with what
// the one before ended with, an entry at the end of that one makes up for it.

/** What makes up for it when a month begins with something else than what the one before ended with. */
export const correctionService = 'month_corrections'

/** In the month that comes before. */
const correctionId = (month: number) => `${month}-ledgers_monthly_correction`

/** What arrived of a month. Units. */
export interface ImportedMonth {
  month: number
  /** What its entries come to, without what was carried over. */
  moved: number
  /** What it says that it begins with; undefined when it does not say so. */
  rollover: number | undefined
}

/** An entry that follows from those that arrived. Units. */
export interface Reckoned {
  id: string
  kind: 'rollover' | 'correction'
  /** The month that begins. */
  month: number
  amount: number
}

/** What months come to, the oldest first: what has to be added so that each begins with what it says, and the balance. */
export const reckoned = (months: readonly ImportedMonth[], monthBefore: (month: number) => number) => {
  const entries: Reckoned[] = []
  let units = 0
  for (const { month, moved, rollover } of months) {
    const missing = (rollover ?? units) - units
    if (missing !== 0)
      entries.push({ id: correctionId(monthBefore(month)), kind: 'correction', month, amount: missing })
    if (rollover === undefined && units !== 0)
      entries.push({ id: rolloverId(month), kind: 'rollover', month, amount: units })
    units += missing + moved
  }
  return { entries, units, month: months.at(-1)?.month }
}

/** Months, with how many entries each has, in groups of at most so many, in their order; one of more is by itself. */
export const monthsTogether = (counts: ReadonlyMap<number, number>, most: number): number[][] => {
  const groups: number[][] = []
  let size = 0
  for (const [month, count] of counts) {
    const last = groups.at(-1)
    size += count
    if (last && size <= most) last.push(month)
    else {
      groups.push([month])
      size = count
    }
  }
  return groups
}
