/**
 * Lets those who price the same account, and then write, do so one after the other. Within this process they wait for
 * each other here; between processes the turn that is stored decides.
 */
export const createQueueing = () => {
  const tails = new Map<string, Promise<void>>()

  const holdOne = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    const before = tails.get(id)
    const { promise, resolve } = Promise.withResolvers<void>()
    tails.set(id, promise)
    try {
      await before
      return await work()
    } finally {
      resolve()
      if (tails.get(id) === promise) tails.delete(id)
    }
  }

  /** Always taken in the order of their ids: no two wait for each other. */
  const hold = <T>(ids: readonly string[], work: () => Promise<T>): Promise<T> => {
    const [first, ...others] = [...ids].sort()
    return first === undefined ? work() : holdOne(first, () => hold(others, work))
  }

  return hold
}
