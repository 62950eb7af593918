/** Legs of a month, their seconds, what they cost, in units, and when their interactions began. */
export interface Sums {
  count: number
  duration: number
  billing: number
  cost: number
  /** Of when their interactions began, the last six digits: another sum where a leg belongs to another one. */
  begun: number
}

/** Of legs, by the month in which they lie here: `202502`. */
export type CallSums = Readonly<Record<string, Sums>>

export const noSums: Sums = { count: 0, duration: 0, billing: 0, cost: 0, begun: 0 }

/** Of a leg what counts. Its id begins with its month. */
interface Counted {
  id: string
  duration_seconds?: number | null | undefined
  billing_seconds?: number | null | undefined
  cost: number
  interaction_time: number
}

const monthDigits = 6
// Seconds. Sums of a month's millions of legs stay exact.
export const begunModulus = 1_000_000

/** `202502` */
export const monthOfLeg = (id: string) => id.slice(0, monthDigits)

const plus = (one: Sums, other: Sums): Sums => ({
  count: one.count + other.count,
  duration: one.duration + other.duration,
  billing: one.billing + other.billing,
  cost: one.cost + other.cost,
  begun: one.begun + other.begun,
})

export const sumsOf = (legs: Iterable<Counted>): CallSums => {
  const sums: Record<string, Sums> = {}
  for (const { id, duration_seconds, billing_seconds, cost, interaction_time } of legs) {
    const month = monthOfLeg(id)
    const sum = sums[month] ?? { ...noSums }
    sum.count += 1
    sum.duration += duration_seconds ?? 0
    sum.billing += billing_seconds ?? 0
    sum.cost += cost
    sum.begun += interaction_time % begunModulus
    sums[month] = sum
  }
  return sums
}

export const joinSums = (one: CallSums, other: CallSums): CallSums => {
  const sums = { ...one }
  for (const [month, more] of Object.entries(other)) sums[month] = plus(sums[month] ?? noSums, more)
  return sums
}
