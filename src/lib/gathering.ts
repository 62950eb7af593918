import { isOutage } from './failure.ts'
import { zip } from './list.ts'
import { currentTrace, inTrace, type Trace } from './trace.ts'

/**
 * Work that costs the same for many as for one: while one batch is under way, what comes gathers for the next. Each
 * caller gets the answer to its own item, at the same place in what `work` answers with. A store may lie on several
 * servers, of which one is gone: what fails in company is done once more by account, where that is told, so that nobody shares that fate.
 */
export const createBatcher = <Item, Answer>(
  most: number,
  work: (items: readonly Item[]) => Promise<readonly Answer[]>,
  accountOf: (item: Item) => string = () => '',
) => {
  interface Waiting {
    item: Item
    trace: Trace | undefined
    resolve: (answer: Answer) => void
    reject: (error: unknown) => void
  }
  const waiting: Waiting[] = []
  let isRunning = false

  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const answers = await work(batch.map(({ item }) => item))
      for (const [{ resolve }, answer] of zip(batch, answers)) resolve(answer)
    } catch (error) {
      const apart = isOutage(error) ? [...Map.groupBy(batch, ({ item }) => accountOf(item)).values()] : []
      if (apart.length > 1) await Promise.all(apart.map(settle))
      else for (const { reject } of batch) reject(error)
    }
  }

  const run = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      // A part of what its first caller does, not of what the first caller of all did long ago.
      await inTrace(batch[0]?.trace, () => settle(batch))
    }
    isRunning = false
  }

  return (item: Item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, trace: currentTrace(), resolve, reject })
      if (isRunning) return
      isRunning = true
      // What comes in the same turn of the event loop is in the first batch.
      void Promise.resolve().then(run)
    })
}
