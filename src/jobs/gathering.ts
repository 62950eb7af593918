import { zip } from '../lib/list.ts'

/**
 * Work that costs the same for many as for one: while one batch is under way, what comes gathers for the next. Each
 * caller gets the answer to its own item, at the same place in what `work` answers with.
 */
export const createGathering = <Item, Answer>(
  most: number,
  work: (items: readonly Item[]) => Promise<readonly Answer[]>,
) => {
  interface Waiting {
    item: Item
    resolve: (answer: Answer) => void
    reject: (error: unknown) => void
  }
  const waiting: Waiting[] = []
  let isRunning = false

  const settle = async (batch: readonly Waiting[]) => {
    try {
      const answers = await work(batch.map(({ item }) => item))
      for (const [{ resolve }, answer] of zip(batch, answers)) resolve(answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const run = async () => {
    while (waiting.length > 0) await settle(waiting.splice(0, most))
    isRunning = false
  }

  return (item: Item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      // What comes in the same turn of the event loop is in the first batch.
      void Promise.resolve().then(run)
    })
}
