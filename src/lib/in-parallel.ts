/**
 * Works on items, at most `most` at a time, until none is left or `isOver`. Resolves when all work has ended, then throws
 * the first failure.
 */
export const inParallel = async <T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<unknown>,
  isOver: () => boolean,
) => {
  const waiting = Iterator.from(items)
  const worker = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      if (isOver()) return
      await work(next.value)
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: most }, worker))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}
