/** Chance that comes out the same every time: what it is asked, and in which order, decides. */
export interface Chance {
  /** At least 0, less than 1. */
  share(): number
  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number
  one<T>(list: readonly T[]): T
  is(probability: number): boolean
  hex(digits: number): string
}

/** `total` split by weights, exactly: who is next to a whole one gets it. */
export const splitBy = (weights: readonly number[], total: number): number[] => {
  const sum = weights.reduce((all, weight) => all + weight, 0)
  let weighed = 0
  let given = 0
  return weights.map((weight) => {
    weighed += weight
    const part = Math.round((total * weighed) / sum) - given
    given += part
    return part
  })
}

/** Mulberry32: good enough for names and calls, for nothing that has to be secret. */
export const createChance = (seed: number): Chance => {
  let state = seed
  const share = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const whole = (least: number, most: number) => least + Math.floor(share() * (most - least + 1))
  return {
    share,
    whole,
    one(list) {
      const found = list[whole(0, list.length - 1)]
      if (found === undefined) throw new Error('there is nothing to choose from')
      return found
    },
    is: (probability) => share() < probability,
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(''),
  }
}
