// Chance that can be repeated: the same seed gives the same requests.

/** The seed of the run, which prints it: CROSSPOINT_TEST_SEED repeats its draws. */
export const seed = Number(process.env.CROSSPOINT_TEST_SEED ?? 1)

export type Chance = ReturnType<typeof createChance>

export const createChance = (start: number) => {
  let state = start >>> 0

  /** From 0 to 1 (mulberry32). */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const below = (bound: number) => Math.floor(next() * bound)

  return {
    below,
    /** True in one of `of` cases. */
    once: (of: number) => below(of) === 0,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
    bytes: (length: number) => Buffer.from(Array.from({ length }, () => below(256))),
    many: <T>(most: number, make: () => T): T[] => Array.from({ length: below(most + 1) }, make),
  }
}
