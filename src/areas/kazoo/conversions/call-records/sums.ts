/** Legs of a month, their seconds, and what they cost, in units. */
export interface Sums {
  count: number
  duration: number
  billing: number
  cost: number
}

/** Of legs, by the month in which they lie here: `202502`. */
export type CallSums = Readonly<Record<string, Sums>>

export const noSums: Sums = { count: 0, duration: 0, billing: 0, cost: 0 }

/** Of a leg what counts. Its id begins with its month. */
interface Counted {
  id: string
  duration_seconds?: number | null | undefined
  billing_seconds?: number | null | undefined
  cost: number
}

const monthDigits = 6

const plus = (one: Sums, other: Sums): Sums => ({
  count: one.count + other.count,
  duration: one.duration + other.duration,
  billing: one.billing + other.billing,
  cost: one.cost + other.cost,
})

export const sumsOf = (legs: Iterable<Counted>): CallSums => {
  const sums: Record<string, Sums> = {}
  for (const { id, duration_seconds, billing_seconds, cost } of legs) {
    const month = id.slice(0, monthDigits)
    const sum = sums[month] ?? { ...noSums }
    sum.count += 1
    sum.duration += duration_seconds ?? 0
    sum.billing += billing_seconds ?? 0
    sum.cost += cost
    sums[month] = sum
  }
  return sums
}

export const joinSums = (one: CallSums, other: CallSums): CallSums => {
  const sums = { ...one }
  for (const [month, more] of Object.entries(other)) sums[month] = plus(sums[month] ?? noSums, more)
  return sums
}
