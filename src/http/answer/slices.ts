import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

// Work on the event loop that goes on longer lets other requests have theirs.
const sliceMilliseconds = 3
const lookEvery = 8

/** What `work` makes of the items, without keeping the event loop for long. Undefined ones are left out. */
export const inSlices = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result | undefined,
): Promise<Result[]> => {
  const results: Result[] = []
  let begun = performance.now()
  for (const [index, item] of items.entries()) {
    const result = work(item)
    if (result !== undefined) results.push(result)
    if (index % lookEvery !== lookEvery - 1 || performance.now() - begun < sliceMilliseconds) continue
    await nextTurn()
    begun = performance.now()
  }
  return results
}
