import { elementAt } from '../src/lib/list.ts'

/** Random values that are the same in every run with the same seed and the same order of calls. */
export interface Random {
  /** At least 0, less than 1. */
  share(): number
  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number
  one<T>(list: readonly T[]): T
  is(probability: number): boolean
  hex(digits: number): string
}

/** Splits `total` by weights into whole numbers whose sum is `total`. */
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

/** Mulberry32: good enough for names and calls, not for secrets. */
export const createRandom = (seed: number): Random => {
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
    one: (list) => elementAt(list, whole(0, list.length - 1)),
    is: (probability) => share() < probability,
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(''),
  }
}
