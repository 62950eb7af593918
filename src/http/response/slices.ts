import { performance } from 'node:perf_hooks'

// All users share one slice in each round of the event loop: a short request waits for one slice, however many lists are made.
const sliceMilliseconds = 3
const lookEvery = 8

const waiting: (() => void)[] = []
let spent = 0
let isRoundAhead = false

const beginRound = () => {
  isRoundAhead = false
  spent = 0
  passOn()
}

const awaitRound = () => {
  if (isRoundAhead) return
  isRoundAhead = true
  setImmediate(beginRound)
}

const nextSlice = () =>
  new Promise<void>((resolve) => {
    waiting.push(resolve)
    awaitRound()
  })

const isSpent = (milliseconds = 0) => spent + milliseconds >= sliceMilliseconds

const passOn = () => {
  if (isSpent()) awaitRound()
  else waiting.shift()?.()
}

const spend = (milliseconds: number) => {
  spent += milliseconds
  awaitRound()
  passOn()
}

/** Maps the items without blocking the event loop; undefined results are left out. `isHeavy`: items that may fill a slice. */
export const inSlices = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result | undefined,
  isHeavy: (item: Item) => boolean = () => false,
): Promise<Result[]> => {
  const results: Result[] = []
  if (isSpent()) await nextSlice()
  let begun = performance.now()
  try {
    for (const [index, item] of items.entries()) {
      const result = work(item)
      if (result !== undefined) results.push(result)
      if (index % lookEvery !== lookEvery - 1 && !isHeavy(item)) continue
      if (!isSpent(performance.now() - begun)) continue
      spend(performance.now() - begun)
      await nextSlice()
      begun = performance.now()
    }
  } finally {
    spend(performance.now() - begun)
  }
  return results
}
