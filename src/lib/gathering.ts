import { isOutage } from './failure.ts'
import { zip } from './list.ts'
import { currentTrace, inTrace, type Trace } from './trace.ts'

/** Collects items while a batch runs; results have the order of the items. After an outage a batch is retried by account, because one server of a distributed store may be down. */
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
      // The trace of the first caller of this batch.
      await inTrace(batch[0]?.trace, () => settle(batch))
    }
    isRunning = false
  }

  return (item: Item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, trace: currentTrace(), resolve, reject })
      if (isRunning) return
      isRunning = true
      // The first batch has all calls of this turn of the event loop.
      void Promise.resolve().then(run)
    })
}
