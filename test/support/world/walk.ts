// Combinations that a walk goes through, such as routes x callers x tricks: all of them in `npm run test:all`, a sample
// in `npm test`. The run prints its seed, and CROSSPOINT_TEST_SEED repeats the sample.
import { type Chance, createChance, seed } from '../../fuzz/chance.ts'
import { countOf, isFullRun } from '../run/run-length.ts'

/** Milliseconds for a test that walks: whole products take minutes where other work shares the processor. */
export const walkLimitMs = countOf(300_000, 1_800_000)

// The server and its database work at the same time.
const atOnce = 8

type Lists = readonly (readonly unknown[])[]

/** One item of each list. */
type Combination<L extends Lists> = { [At in keyof L]: L[At][number] }

const combinationsOf = (lists: Lists): unknown[][] =>
  lists.reduce<unknown[][]>(
    (combinations, list) => combinations.flatMap((combination) => list.map((item) => [...combination, item])),
    [[]],
  )

const shuffled = (chance: Chance, items: readonly unknown[]) => {
  const rest = [...items]
  return items.map(() => rest.splice(chance.below(rest.length), 1)[0])
}

/** As many combinations as the longest list has items: each item of each list occurs at least once. */
export const sampleOf = <const L extends Lists>(chance: Chance, ...lists: L): Combination<L>[] => {
  const count = Math.max(...lists.map(({ length }) => length))
  const columns = lists.map((list) => {
    const column: unknown[] = []
    while (column.length < count) column.push(...shuffled(chance, list))
    return column
  })
  return Array.from(
    { length: count },
    (_, at) => columns.map((column) => column[at]) as unknown as Combination<L>,
  )
}

/** The combinations of this run. Throws if a list is empty: the walk would test nothing. */
export const walkOf = <const L extends Lists>(...lists: L): Combination<L>[] => {
  if (lists.some(({ length }) => length === 0)) throw new Error('a list of this walk is empty')
  return isFullRun ? (combinationsOf(lists) as Combination<L>[]) : sampleOf(createChance(seed), ...lists)
}

/** All items in `npm run test:all`; in `npm test` a number of them, drawn by the seed, in the same order. */
export const someOf = <T>(count: number, items: readonly T[]): readonly T[] => {
  if (isFullRun) return items
  const drawn = new Set(shuffled(createChance(seed), items).slice(0, count))
  return items.filter((item) => drawn.has(item))
}

/** Does the work for all items, some at the same time. The first failure ends it. */
export const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>) => {
  const rest = items.values()
  const worker = async () => {
    try {
      for (const item of rest) await work(item)
    } catch (error) {
      Array.from(rest)
      throw error
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
