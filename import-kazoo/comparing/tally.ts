import type { Told } from './rules.ts'

/** What was asked of two systems, and what they say differently. */
export interface Tally {
  questions: { name: string; asked: number; different: number }[]
  differences: Told[]
  /** Beside those that are told. */
  untold: number
}

// Whoever has more of them looks at the first ones.
const maxTold = 10_000

/** Counts answers that are held against each other; of what differs it keeps the first. */
export const createTally = (names: readonly string[] = []) => {
  const tally: Tally = {
    questions: names.map((name) => ({ name, asked: 0, different: 0 })),
    differences: [],
    untold: 0,
  }
  return {
    tally,
    add(name: string, asked: number, told: readonly Told[]) {
      const known = tally.questions.find((one) => one.name === name)
      const question = known ?? { name, asked: 0, different: 0 }
      if (!known) tally.questions.push(question)
      question.asked += asked
      question.different += new Set(told.map(({ id = '' }) => id)).size
      const room = Math.max(0, maxTold - tally.differences.length)
      tally.differences.push(...told.slice(0, room))
      tally.untold += Math.max(0, told.length - room)
    },
  }
}

/** Something that is counted or summed on both sides. */
export interface BothSums {
  name: string
  there: number
  here: number
}

export const createSums = () => {
  const sums = new Map<string, BothSums>()
  return {
    add(name: string, there: number, here: number) {
      const known = sums.get(name) ?? { name, there: 0, here: 0 }
      sums.set(name, { name, there: known.there + there, here: known.here + here })
    },
    all: () => [...sums.values()],
  }
}
